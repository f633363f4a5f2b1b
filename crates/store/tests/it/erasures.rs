//! Erasing: what is erased stays erased, whatever becomes of its day.

use std::time::Duration;

use domain::{Day, ErasureId, EventId};
use store::{
    Store,
    erasures::{ClaimedErasure, Look, NewErasure, What},
    partitions::{DayContent, Leftover, Table},
};
use testkit::{Database, eventually};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{
    NOW,
    index::{asked, differences, org, random_id, row},
    store,
};

const LEASE: Duration = Duration::from_mins(1);
/// The event that tells the trail.
const TOLD: u32 = 99;

/// Asks for an erasure and takes it.
async fn begun(store: &Store, number: u8, ids: &[EventId]) -> ClaimedErasure {
    let erasure = NewErasure {
        org: org(1),
        id: ErasureId::new(NOW, [number; 10]),
        asked_by: "usr_1".to_owned(),
        reason: "case 1".to_owned(),
        what: What::Ids(ids.to_vec()),
        created_at: NOW,
    };
    let is_made = store.insert_erasure(&erasure, 5).await;
    assert!(is_made.expect("an answer"));
    let claimed = store.claim_erasure(Uuid::from_u128(number.into()), LEASE);
    claimed.await.expect("an answer").expect("a job")
}

/// Erases these events, up to what the archive has of them.
async fn erase(store: &Store, number: u8, ids: &[EventId]) -> ClaimedErasure {
    let job = begun(store, number, ids).await;
    let look = Look {
        events: ids.to_vec(),
        ids_seen: ids.len(),
        is_last: true,
        ..Look::default()
    };
    let page = store.begin_erasure_page(&job, look, NOW, LEASE).await;
    let page = page.expect("an answer").expect("ours");
    let told = random_id(TOLD, NOW);
    let is_ours = store.erase_page(&job, &page, told, LEASE).await;
    assert!(is_ours.expect("an answer"));
    job
}

/// The ids in the table.
fn held(database: &Database) -> Vec<String> {
    let ids = asked(database, "SELECT id FROM audit_events ORDER BY id");
    ids.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_day_that_is_put_back_has_nothing_that_was_erased_while_it_was_out() {
    let (store, database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    let ids: Vec<EventId> = (0..4).map(|number| random_id(number, NOW)).collect();
    let rows: Vec<_> = ids.iter().map(|id| row(*id)).collect();
    index.redrive("1", &rows).await.expect("written");
    let taken = store.day_dropper().await.expect("an answer");
    let mut dropper = taken.expect("nobody else drops");
    let day = Day::of(NOW);
    let take_out = format!(
        "ALTER TABLE audit_events DETACH PARTITION audit_events_d{}",
        day.number()
    );

    let later = NOW.plus(Duration::from_hours(48));
    for (number, then) in [(1, Leftover::PutBack), (2, Leftover::Drop)] {
        asked(&database, &take_out);
        let doomed = ids[usize::from(number)];
        erase(&store, number, &[doomed]).await;
        // One that is kept longer by now is put back by whoever would drop it.
        let kept_from = if then == Leftover::Drop { NOW } else { later };
        let putting_back = dropper.see_to_leftovers(Table::AuditEvents, kept_from, then);
        putting_back.await.expect("put back");
        let left = held(&database);
        assert!(!left.contains(&doomed.uuid().to_string()), "{left:?}");
    }
    assert_eq!(
        held(&database),
        [ids[0], ids[3]].map(|id| id.uuid().to_string())
    );
    assert_eq!(differences(&database), "");
}

#[tokio::test]
async fn what_was_erased_and_is_there_again_is_deleted_again_by_whoever_asks_again() {
    let (store, database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    let ids: Vec<EventId> = (0..2).map(|number| random_id(number, NOW)).collect();
    let rows: Vec<_> = ids.iter().map(|id| row(*id)).collect();
    index.redrive("1", &rows).await.expect("written");
    asked(&database, "CREATE TABLE kept AS TABLE audit_events");
    asked(&database, "CREATE TABLE counts AS TABLE event_counts");
    let first = erase(&store, 1, &ids[..1]).await;
    let ending = store.end_job(&first, None, NOW);
    ending.await.expect("ended");
    // By somebody with root on the database.
    asked(
        &database,
        "DELETE FROM audit_events; INSERT INTO audit_events TABLE kept;
         DELETE FROM event_counts; INSERT INTO event_counts TABLE counts",
    );

    let second = begun(&store, 2, &ids[..1]).await;
    let look = Look {
        already_erased: 1,
        again: vec![ids[0]],
        ids_seen: 1,
        is_last: true,
        ..Look::default()
    };
    let page = store.begin_erasure_page(&second, look, NOW, LEASE).await;
    assert_eq!(page.expect("an answer").expect("ours").events, []);
    assert_eq!(held(&database), [ids[1].uuid().to_string()]);
    assert_eq!(differences(&database), "");
    // What the archive has of it is the second one's to clean.
    let next = store.next_erased(org(1), second.id, ids[0]).await;
    assert_eq!(next.expect("an answer"), Some(ids[0]));
}

#[tokio::test]
async fn the_next_erasure_also_cleans_the_archive_of_what_one_that_failed_erased() {
    let (store, _database) = store().await;
    let days_apart = |days: u32| {
        let at = NOW.plus(Duration::from_hours(24) * days);
        random_id(days, at)
    };
    let ids: Vec<EventId> = (0..3).map(days_apart).collect();
    let failed = erase(&store, 1, &ids[..1]).await;
    let ending = store.end_job(&failed, Some("the bucket is away"), NOW);
    ending.await.expect("ended");
    let done = erase(&store, 2, &ids[1..2]).await;
    store.end_job(&done, None, NOW).await.expect("ended");
    let next = erase(&store, 3, &ids[2..]).await;

    let mut to_clean = Vec::new();
    let mut from = EventId::from_uuid(Uuid::nil());
    while let Some(id) = store
        .next_erased(org(1), next.id, from)
        .await
        .expect("an answer")
    {
        to_clean.push(id);
        from = Day::of(id.time()).next().first_id();
    }
    assert_eq!(to_clean, [ids[0], ids[2]]);
}

#[tokio::test]
async fn one_at_a_time_has_the_files_of_a_day() {
    let (store, database) = store().await;
    let (day, other) = (Day::of(NOW), Day::of(NOW).next());
    let first = store.files_of_day(day).await.expect("ours");
    store.files_of_day(other).await.expect("another day's");
    let mut others = JoinSet::new();
    others.spawn(async move { store.files_of_day(day).await });
    let waiting =
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND NOT granted
                   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let is_waiting = async || asked(&database, waiting) == "1";
    eventually(Duration::from_secs(10), "the second waits", is_waiting).await;
    assert!(others.try_join_next().is_none(), "two have it");
    drop(first);
    let second = others.join_next().await.expect("it was asked");
    let second = second.expect("it did not panic");
    second.expect("ours by now");
}

#[tokio::test]
async fn a_day_that_has_another_event_in_the_place_of_an_erased_one_is_not_dropped() {
    let (store, database) = store().await;
    let mut index = store.event_index().await.expect("an index");
    let ids: Vec<EventId> = (0..4).map(|number| random_id(number, NOW)).collect();
    let rows: Vec<_> = ids.iter().map(|id| row(*id)).collect();
    index.redrive("1", &rows[..3]).await.expect("written");
    let archived = DayContent {
        events: 3,
        erased: 0,
    };
    erase(&store, 1, &ids[1..2]).await;
    index.redrive("2", &rows[3..]).await.expect("written");
    assert_eq!(held(&database).len(), 3);

    let taken = store.day_dropper().await.expect("an answer");
    let mut dropper = taken.expect("nobody else drops");
    let day = Day::of(NOW);
    let is_dropped = dropper.drop_archived_day(day, archived).await;
    assert!(!is_dropped.expect("an answer"));
    let archived = DayContent {
        erased: 1,
        ..archived
    };
    let is_dropped = dropper.drop_archived_day(day, archived).await;
    assert!(is_dropped.expect("an answer"));
}
