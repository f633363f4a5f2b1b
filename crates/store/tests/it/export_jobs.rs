//! Who gets which job: organizations share the workers, and a job counts as tried when it is taken.

use std::time::Duration;

use domain::{EventId, ExportId, OrgId};
use store::{
    Store,
    exports::{Claimed, NewExport},
};
use uuid::Uuid;

use crate::{NOW, store};

const LEASE: Duration = Duration::from_secs(60);

fn org(number: u128) -> OrgId {
    OrgId::from_uuid(Uuid::from_u128(number))
}

async fn ask(store: &Store, org: OrgId, number: u128) {
    let export = NewExport {
        org,
        id: ExportId::from_uuid(Uuid::from_u128(number)),
        asked_by: String::from("somebody"),
        filter: String::from("{}"),
        format: String::from("ndjson"),
        compression: String::from("none"),
        range: None,
        created_at: NOW,
        secret: [0; 32],
    };
    assert!(store.insert_export(&export, 10).await.expect("an answer"));
    let without = EventId::new(NOW, [0; 10]);
    let queued = store.queue_export(org, export.id, without).await;
    queued.expect("queued");
}

async fn claim(store: &Store, worker: u128) -> Claimed {
    let claimed = store.claim_export(Uuid::from_u128(worker), LEASE).await;
    claimed.expect("an answer").expect("a job")
}

#[tokio::test]
async fn one_organization_with_many_jobs_does_not_have_all_workers() {
    let (store, _database) = store().await;
    for number in 0..5 {
        ask(&store, org(1), number).await;
    }
    ask(&store, org(2), 100).await;
    let mut orgs = Vec::new();
    for worker in 1..=3 {
        orgs.push(claim(&store, worker).await.org);
    }
    assert_eq!(orgs, [org(1), org(2), org(1)]);
}

#[tokio::test]
async fn a_job_counts_as_tried_when_it_is_taken_unless_it_is_given_back() {
    let (store, _database) = store().await;
    ask(&store, org(1), 1).await;
    let job = claim(&store, 1).await;
    assert_eq!(job.tries, 1);
    let released = store.release_job(&job, Duration::ZERO, None).await;
    released.expect("given back");
    let job = claim(&store, 2).await;
    assert_eq!(job.tries, 1, "a clean stop is no try");
    let released = store.release_job(&job, Duration::ZERO, Some("failed"));
    released.await.expect("given back");
    let crashes = store.claim_export(Uuid::from_u128(3), Duration::ZERO).await;
    assert_eq!(crashes.expect("an answer").expect("a job").tries, 2);
    assert_eq!(claim(&store, 4).await.tries, 3, "a crash is one");
}
