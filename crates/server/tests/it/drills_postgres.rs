//! Drill: PostgreSQL is restored from a backup that is older than the journal.

use serde_json::json;
use testkit::eventually;

use crate::announce::{announce, counts};
use crate::deployment::{DEADLINE, event};
use crate::drills::{Counts, Drill, WORKERS, key};

#[tokio::test]
async fn a_database_restored_from_a_backup_reads_what_came_since_and_newer_keys_and_rules_end() {
    let mut drill = Drill::start().await;
    let (later, id) = key(&drill.person).await;
    drill.work(WORKERS);
    drill.accept(3).await;
    drill.agrees("before").await;
    let backup = drill.back_up();
    drill.work(WORKERS);
    drill.accept(3).await;
    let newer = key(&drill.person).await.0;
    drill.person.delete(&format!("/v1/api-keys/{id}")).await;
    let pattern = json!({"agent_id": ["newer"]});
    let url = drill.receiver.url_of("/deleted");
    drill.customer.rule(pattern, &url).await;
    drill.agrees("after the backup").await;

    drill.restore(&backup);
    drill.work(WORKERS);
    assert_eq!(
        drill.works("restored").await,
        Counts {
            kept: 7,
            lost: 0,
            sent_again: 0
        }
    );
    let [newer, later] = [newer, later].map(|key| key.at(&mut drill.api));
    assert!(
        !drill.is_refused(&newer).await,
        "nobody can see or revoke it"
    );
    assert!(
        drill.is_refused(&later).await,
        "the journal knows that it was revoked"
    );

    let found = counts(&announce(&drill.deployment, &["--dry-run"]));
    assert_eq!(
        found,
        [0, 1, 2],
        "a key that was revoked since; a newer key and rule"
    );
    announce(&drill.deployment, &[]);
    eventually(DEADLINE, "what is newer than the backup ends", async || {
        drill.is_refused(&newer).await
    })
    .await;
    eventually(
        DEADLINE,
        "what was revoked since is to be revoked again",
        async || !drill.is_refused(&later).await,
    )
    .await;
    drill.customer.ingest(&event("newer")).await;
    assert_eq!(
        drill.works("announced").await,
        Counts {
            kept: 8,
            lost: 0,
            sent_again: 0
        }
    );
}
