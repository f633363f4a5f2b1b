//! The queue of deliveries: due, for later, and in lanes.

use std::time::Duration;

use domain::{DeliveryId, EndpointId, EventId, OrgId, RuleId, Timestamp, delivery::Cause};
use journal::{
    Journal,
    cancellations::Void,
    queue::{Lane, Source},
    record::{self, Job, Matched},
    requeue::OnRecord,
    work_queue::Task,
};
use testkit::shared;
use tokio::time::timeout;
use uuid::Uuid;

use crate::{DEADLINE, events_log, journal, now};

fn org() -> OrgId {
    OrgId::from_uuid(Uuid::from_u128(1))
}

pub(crate) fn job(number: u128, due_at: Timestamp) -> Job {
    let matched = Matched {
        org: org(),
        delivery: DeliveryId::from_uuid(Uuid::from_u128(number)),
        event: EventId::from_uuid(Uuid::from_u128(3)),
        rule: RuleId::from_uuid(Uuid::from_u128(4)),
        rule_name: String::from("r"),
        event_type: String::from("tool_call"),
        url: String::from("https://example.com"),
        matched_at: due_at,
        cause: Cause::Match,
    };
    Job::first(matched, String::from("{}"))
}

async fn due(journal: &Journal) -> Source {
    let partition = journal.partitions().of(org());
    journal.due(partition).await.expect("a source")
}

/// The next message, if one comes within the time.
async fn next(source: &Source, within: Duration) -> Option<Task> {
    let mut taking = source.take(1, within).await.expect("a pull");
    timeout(DEADLINE, taking.next())
        .await
        .expect("in time")
        .expect("no error")
}

async fn one(source: &Source) -> Task {
    next(source, DEADLINE).await.expect("a message")
}

async fn assert_nothing_is_left(source: &Source) {
    let more = next(source, Duration::from_secs(1)).await;
    assert!(more.is_none(), "nothing is left");
}

fn on_record(journal: &Journal, jobs: &[Job]) -> OnRecord {
    OnRecord {
        deliveries: jobs.iter().map(|job| job.matched.delivery).collect(),
        seen_over: journal.connection(),
    }
}

fn jobs(task: &Task) -> Vec<Job> {
    record::jobs(task.payload()).expect("readable")
}

#[tokio::test]
async fn a_delivery_queued_twice_is_handed_out_once_and_comes_back_until_settled() {
    let journal = journal().await;
    let job = job(2, now());
    for _ in 0..2 {
        let queued = journal.deliver_all(std::slice::from_ref(&job));
        queued.await.expect("queued");
    }
    let source = due(&journal).await;
    let task = one(&source).await;
    assert_eq!(jobs(&task), [job]);
    task.hand_back().await.expect("handed back");
    one(&source).await.settle().await.expect("settled");
    assert_nothing_is_left(&source).await;
}

#[tokio::test]
async fn deliveries_of_an_organization_travel_together_whatever_their_rules() {
    let journal = journal().await;
    let mut all: Vec<Job> = (10..20).map(|number| job(number, now())).collect();
    for (number, job) in (0..).zip(&mut all) {
        job.matched.rule = RuleId::from_uuid(Uuid::from_u128(number));
    }
    journal.deliver_all(&all).await.expect("queued");
    let source = due(&journal).await;
    let task = one(&source).await;
    assert_eq!(jobs(&task), all);
    task.settle().await.expect("settled");
    assert_nothing_is_left(&source).await;
}

#[tokio::test]
async fn what_is_queued_again_is_recognized_also_if_some_of_it_is_over() {
    let journal = journal().await;
    let all: Vec<Job> = (10..20).map(|number| job(number, now())).collect();
    journal.deliver_all(&all).await.expect("queued");
    let over = on_record(&journal, &all[3..4]);
    let again = journal.deliver_again(all.clone(), &over, now());
    again.await.expect("queued");
    // A bundle that is over was queued, although its name is not known: the server was started anew.
    let settled: Vec<Job> = (20..30).map(|number| job(number, now())).collect();
    let over = on_record(&journal, &settled);
    let again = journal.deliver_again(settled, &over, now());
    again.await.expect("queued");

    let source = due(&journal).await;
    let task = one(&source).await;
    assert_eq!(jobs(&task), all);
    task.settle().await.expect("settled");
    assert_nothing_is_left(&source).await;
}

#[tokio::test]
async fn what_is_queued_again_too_late_to_be_recognized_begins_another_round() {
    let journal = journal().await;
    let [began, now] = [now().minus(Duration::from_mins(2)), now()];
    let all = vec![job(10, began), job(11, began)];
    journal.deliver_all(&all).await.expect("queued");
    let over = on_record(&journal, &all[..1]);
    let again = journal.deliver_again(all.clone(), &over, now);
    again.await.expect("queued");

    let source = due(&journal).await;
    let first = one(&source).await;
    assert_eq!(jobs(&first), all);
    let anew = Job {
        since: now,
        ..all[1].clone()
    };
    let second = one(&source).await;
    assert_eq!(jobs(&second), [anew]);
    let (id, voided) = journal.cancels().next().await.expect("a change").remove(0);
    assert_eq!(
        (id, voided.why),
        (all[1].matched.delivery, Void::Superseded)
    );
    assert!(
        (began..now).contains(&voided.until),
        "the round before is void, and this one is not"
    );
}

#[tokio::test]
async fn a_delivery_for_later_comes_when_it_is_due_and_not_before() {
    let journal = journal().await;
    let due_at = now().plus(Duration::from_secs(2));
    let later = job(2, due_at);
    journal
        .deliver_later(None, &later)
        .await
        .expect("scheduled");
    // Scheduled again, as after a crash before settling.
    journal
        .deliver_later(None, &later)
        .await
        .expect("scheduled");
    let source = due(&journal).await;
    let task = one(&source).await;
    let came_at = now();
    assert!(came_at >= due_at, "came at {came_at:?}, due at {due_at:?}");
    assert!(
        came_at < due_at.plus(Duration::from_secs(3)),
        "came at {came_at:?}, due at {due_at:?}"
    );
    assert_eq!(jobs(&task), [later]);
    task.settle().await.expect("settled");
    assert_nothing_is_left(&source).await;
}

/// A send of the earlier round may be under way when the next begins.
#[tokio::test]
async fn what_waits_for_a_round_of_a_delivery_is_not_replaced_by_what_waits_for_another() {
    let journal = journal().await;
    let due_at = now().plus(Duration::from_secs(1));
    let of_this = job(2, due_at);
    let of_the_last = Job {
        since: due_at.minus(Duration::from_mins(1)),
        ..of_this.clone()
    };
    for later in [&of_this, &of_the_last] {
        journal.deliver_later(None, later).await.expect("scheduled");
    }
    let source = due(&journal).await;
    let mut came = [jobs(&one(&source).await), jobs(&one(&source).await)].concat();
    came.sort_by_key(|job| job.since);
    assert_eq!(came, [of_the_last, of_this]);
}

#[tokio::test]
async fn a_lost_consumer_is_noticed_and_made_again_by_asking_for_it_again() {
    let journal = journal().await;
    let source = due(&journal).await;
    let mut taking = source.take(1, DEADLINE).await.expect("a pull");
    let client = async_nats::connect(&shared().nats_url)
        .await
        .expect("NATS runs");
    let events = journal.log_name(events_log(&journal));
    let stream = async_nats::jetstream::new(client)
        .get_stream(events.replace("EVENTS", "DELIVERIES"))
        .await
        .expect("the stream");
    stream.delete_consumer("deliver").await.expect("deleted");

    let noticed = timeout(DEADLINE, taking.next()).await.expect("in time");
    assert!(
        noticed.is_err(),
        "a worker is told that its consumer is gone"
    );

    let job = job(2, now());
    let queued = journal.deliver_all(std::slice::from_ref(&job));
    queued.await.expect("queued");
    assert_eq!(jobs(&one(&due(&journal).await).await), [job]);
}

#[tokio::test]
async fn what_stands_in_a_lane_is_seen_and_taken_there_and_nowhere_else() {
    let journal = journal().await;
    let partition = journal.partitions().of(org());
    let lane = Lane {
        org: org(),
        endpoint: EndpointId::of(org(), "https://example.com"),
    };
    assert_eq!(journal.lanes(partition).await.expect("lanes"), []);
    let all: Vec<Job> = (10..13).map(|number| job(number, now())).collect();
    journal.deliver_all(&all).await.expect("queued");
    let source = due(&journal).await;
    let task = one(&source).await;
    journal.park(&task, lane, &all).await.expect("parked");
    // Again, as after a crash before settling.
    journal.park(&task, lane, &all).await.expect("parked");
    task.settle().await.expect("settled");

    assert_nothing_is_left(&source).await;
    assert_eq!(journal.lanes(partition).await.expect("lanes"), [(lane, 1)]);
    let queue = journal.lane(lane).await.expect("the lane");
    let task = one(&queue).await;
    assert_eq!(jobs(&task), all);

    // Put back into the same lane from there, they are not taken for what was put there before.
    journal.park(&task, lane, &all).await.expect("parked");
    task.settle().await.expect("settled");
    let task = one(&queue).await;
    assert_eq!(jobs(&task), all);
    // One of them was sent; the others are due again.
    journal.put_back(&task, &all[1..]).await.expect("put back");
    task.settle().await.expect("settled");
    assert_eq!(journal.lanes(partition).await.expect("lanes"), []);
    assert_eq!(jobs(&one(&source).await), all[1..]);
}

/// Two chains of attempts of one delivery, as after a crash: neither may swallow what waits of the other.
#[tokio::test]
async fn what_waits_is_replaced_and_never_taken_for_a_repetition_of_what_was_replaced() {
    let journal = journal().await;
    journal.deliver_all(&[job(7, now())]).await.expect("queued");
    let source = due(&journal).await;
    let one_chain = one(&source).await;
    let both = [job(8, now()), job(9, now())];
    journal.deliver_all(&both).await.expect("queued");
    let other_chain = one(&source).await;
    // All three are scheduled before the first is due, on a busy machine too.
    let due_at = now().plus(Duration::from_secs(8));
    let [third, fourth] = [3, 4].map(|attempt| Job {
        attempt,
        due_at,
        ..job(2, now())
    });
    for (chain, job) in [
        (&one_chain, &fourth),
        (&other_chain, &third),
        (&other_chain, &fourth),
    ] {
        let later = journal.deliver_later(Some(chain), job);
        later.await.expect("scheduled");
    }
    let task = one(&source).await;
    assert_eq!(jobs(&task), [fourth], "the last word");
}
