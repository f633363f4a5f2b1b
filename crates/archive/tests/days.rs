//! A day of the trail as a file in a folder: each organization reads its own events, in order.

use archive::{
    Bucket, Events,
    bucket::S3Options,
    days::{self, DayWriter},
};
use domain::OrgId;
use futures::TryStreamExt as _;

/// More than a row group of small organizations, so that some are skipped.
const ORGS: u128 = 300;
const EVENTS_EACH: u32 = 500;

fn org(number: u128) -> OrgId {
    OrgId::from_uuid(uuid::Uuid::from_u128(number))
}

fn event(org: u128, number: u32) -> String {
    format!(r#"{{"id":"evt_{number}","agent_id":"org-{org}","metadata":{{"n":{number}}}}}"#)
}

#[tokio::test]
async fn each_organization_reads_its_own_events_and_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("file://{}", folder.path().display());
    let bucket = Bucket::open(&url, &S3Options::default()).expect("a bucket");
    let mut writer = DayWriter::create(&bucket, "day/a.parquet")
        .await
        .expect("a file");
    for number in 1..=ORGS {
        let mut events = Events::default();
        (0..EVENTS_EACH).for_each(|one| events.push(&event(number, one)));
        let salts = vec![None; events.len()];
        let written = writer.write(org(number), events, salts).await;
        written.expect("written");
    }
    assert!(
        bucket.list("day").await.expect("a list").is_empty(),
        "a file is there when it is whole"
    );
    let finished = writer.finish().await.expect("a file");
    let expected = u64::try_from(ORGS).expect("small") * u64::from(EVENTS_EACH);
    assert_eq!(finished.events, expected);
    assert_eq!(
        days::count(&bucket, "day/a.parquet")
            .await
            .expect("a footer"),
        expected
    );
    assert_eq!(
        bucket.length("day/a.parquet").await.expect("a length"),
        finished.bytes
    );
    for number in [1, 77, ORGS] {
        let batches = days::read(&bucket, ("day/a.parquet", expected), org(number))
            .await
            .expect("a reader");
        let batches: Vec<Events> = batches.try_collect().await.expect("rows");
        let found: Vec<&str> = batches.iter().flat_map(Events::iter).collect();
        let written: Vec<String> = (0..EVENTS_EACH).map(|one| event(number, one)).collect();
        assert_eq!(found, written);
    }
    let another = days::read(&bucket, ("day/a.parquet", expected + 1), org(1)).await;
    assert!(another.is_err(), "not the file that was noted");
    let nobody = days::read(&bucket, ("day/a.parquet", expected), org(ORGS + 1))
        .await
        .expect("a reader");
    let rows: Vec<Events> = nobody.try_collect().await.expect("rows");
    assert!(rows.iter().all(Events::is_empty));
    assert!(days::count(&bucket, "day/b.parquet").await.is_err());
    bucket.delete_below("day").await.expect("deleted");
    assert!(bucket.list("day").await.expect("a list").is_empty());
    bucket.delete_below("day").await.expect("nothing to delete");
}
