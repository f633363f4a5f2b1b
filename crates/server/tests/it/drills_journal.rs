//! Drills: the journal's streams are lost, or put back to what they were, each alone and all together.

use serde_json::json;
use testkit::eventually;

use crate::announce::{announce, counts};
use crate::deployment::{DEADLINE, event};
use crate::drills::{Counts, Drill, WORKERS, key};

#[tokio::test]
async fn events_that_are_lost_or_put_back_cost_only_what_nobody_had_read() {
    let mut drill = Drill::start().await;
    drill.work(WORKERS);
    drill.accept(4).await;
    drill.agrees("before").await;
    drill.rest();
    let copy = drill.copy();
    drill.work(WORKERS);
    drill.accept(4).await;
    drill.agrees("after the copy").await;

    drill.rest();
    drill.put_back(&copy, &["_EVENTS_"]);
    // Past where it was read and judged.
    drill.accept(6).await;
    drill.work(WORKERS);
    assert_eq!(
        drill.works("put back").await,
        Counts {
            kept: 15,
            lost: 0,
            sent_again: 0
        }
    );

    drill.rest();
    let unread = drill.accept(3).await;
    drill.lose(&["_EVENTS_"]);
    drill.books.lose(unread);
    drill.accept(20).await;
    drill.work(WORKERS);
    assert_eq!(
        drill.works("lost").await,
        Counts {
            kept: 36,
            lost: 3,
            sent_again: 0
        }
    );
}

#[tokio::test]
async fn outcomes_that_are_lost_or_put_back_are_decided_again() {
    let mut drill = Drill::start().await;
    drill.work(WORKERS);
    drill.accept(4).await;
    drill.agrees("before").await;
    drill.rest();
    let copy = drill.copy();
    drill.work(WORKERS);
    let forgotten = drill.accept(3).await;
    drill.agrees("after the copy").await;

    drill.rest();
    drill.put_back(&copy, &["_OUTCOMES_"]);
    drill.books.again(&forgotten);
    drill.accept(8).await;
    // Past where it was recorded.
    drill.work("match,deliver");
    drill.arrive("put back").await;
    drill.work(WORKERS);
    assert_eq!(
        drill.works("put back").await,
        Counts {
            kept: 16,
            lost: 0,
            sent_again: 3
        }
    );

    drill.rest();
    let all: Vec<String> = drill.books.arrivals.keys().cloned().collect();
    drill.lose(&["_OUTCOMES_"]);
    drill.books.again(&all);
    drill.accept(2).await;
    drill.work(WORKERS);
    assert_eq!(
        drill.works("lost").await,
        Counts {
            kept: 19,
            lost: 0,
            sent_again: 19
        }
    );
}

#[tokio::test]
async fn deliveries_that_are_lost_are_recovered_and_those_put_back_are_not_sent_again() {
    let mut drill = Drill::start().await;
    drill.work("index,match");
    drill.accept(3).await;
    drill.queued(3).await;
    let copy = drill.copy();

    drill.lose(&["_DELIVERIES_"]);
    drill.work(WORKERS);
    assert_eq!(drill.recover_lost().await, 0, "they may be on their way");
    drill
        .deployment
        .sql("UPDATE deliveries SET next_at = now() - interval '11 minutes'");
    assert_eq!(drill.recover_lost().await, 3);
    assert_eq!(
        drill.works("lost").await,
        Counts {
            kept: 4,
            lost: 0,
            sent_again: 0
        }
    );

    drill.rest();
    drill.put_back(&copy, &["_DELIVERIES_"]);
    drill.work("index,match");
    drill.accept(2).await;
    drill.queued(2).await;
    let copy = drill.copy();
    drill.work(WORKERS);
    drill.agrees("after the copy").await;
    drill.rest();
    drill.put_back(&copy, &["_DELIVERIES_"]);
    drill.work(WORKERS);
    assert_eq!(
        drill.works("put back").await,
        Counts {
            kept: 7,
            lost: 0,
            sent_again: 0
        }
    );
}

#[tokio::test]
async fn last_values_that_are_lost_come_back_by_themselves_and_those_put_back_by_the_command() {
    let mut drill = Drill::start().await;
    let (later, id) = key(&drill.person).await;
    let pattern = json!({"agent_id": ["agent"]});
    let url = drill.receiver.url_of("/deleted");
    let deleted = drill.customer.rule(pattern.clone(), &url).await;
    let copy = drill.copy();
    drill.work(WORKERS);
    drill.person.delete(&format!("/v1/api-keys/{id}")).await;
    drill
        .customer
        .delete(&format!("/v1/alert-rules/{deleted}"))
        .await;
    let other = json!({"agent_id": ["other"]});
    let url = drill.receiver.url_of("/other");
    drill.customer.rule(other, &url).await;

    drill.put_back(&copy, &["KV_"]);
    eventually(DEADLINE, "what was revoked works again", async || {
        !drill.is_refused(&later).await
    })
    .await;
    assert_eq!(counts(&announce(&drill.deployment, &[])), [1, 0, 2]);
    eventually(DEADLINE, "what was revoked is refused", async || {
        drill.is_refused(&later).await
    })
    .await;
    assert_eq!(
        drill.works("put back").await,
        Counts {
            kept: 1,
            lost: 0,
            sent_again: 0
        }
    );

    // Its revision grows.
    let endpoint = drill.endpoint_of("other").await;
    for change in ["pause", "resume", "pause", "resume"] {
        drill.change(&endpoint, change).await;
    }
    drill.lose(&["KV_"]);
    assert_eq!(
        drill.works("lost").await,
        Counts {
            kept: 2,
            lost: 0,
            sent_again: 0
        }
    );
    assert_eq!(
        counts(&announce(&drill.deployment, &["--dry-run"])),
        [0, 0, 0]
    );
    drill.change(&endpoint, "pause").await;
    let held = drill.customer.ingest(&event("other")).await;
    eventually(DEADLINE, "what is paused now is held", async || {
        let held = format!("/v1/deliveries?state=held&event_id={held}");
        let held = drill.customer.get_json(&held).await;
        held["data"].as_array().is_some_and(|held| held.len() == 1)
    })
    .await;
}

#[tokio::test]
async fn a_journal_that_is_lost_or_put_back_as_a_whole_comes_back_under_nodes_that_run() {
    let mut drill = Drill::start().await;
    drill.work(WORKERS);
    drill.accept(3).await;
    drill.agrees("before").await;
    drill.lose(&[""]);
    assert_eq!(
        drill.works("lost").await,
        Counts {
            kept: 4,
            lost: 0,
            sent_again: 0
        }
    );

    drill.rest();
    let copy = drill.copy();
    drill.work(WORKERS);
    drill.accept(3).await;
    let url = drill.receiver.url_of("/deleted");
    let pattern = json!({"agent_id": ["other"]});
    drill.customer.rule(pattern, &url).await;
    drill.agrees("after the copy").await;
    drill.put_back(&copy, &[""]);
    assert_eq!(
        drill.works("put back").await,
        Counts {
            kept: 8,
            lost: 0,
            sent_again: 0
        }
    );
    assert_eq!(counts(&announce(&drill.deployment, &[])), [1, 0, 0]);
}
