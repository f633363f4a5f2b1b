//! Erasing what is in files of the archive, when files cannot be reached, and while others work on the same day.

use std::fs;

use archive::{Bucket, bucket::S3Options, days};
use domain::{Day, EventId, OrgId};
use serde_json::{Value, json};
use store::Store;
use testkit::{eventually, folder::TestFolder};

use crate::archive::{archive as archive_day, day, ingest};
use crate::deployment::{Customer, DEADLINE, Running};
use crate::erasures::{SCOPES, begin, done, export, ids_in, told};
use crate::people::Person;
use crate::transparency::kept_in;

/// A day with five events of each of two agents, in a file.
struct Scene {
    // In this order: the processes end before their files go.
    running: Running,
    owner: Person,
    key: Customer,
    /// As in RFC 3339, and its number.
    day: (String, i64),
    folder: TestFolder,
}

impl Scene {
    /// Archived, and still in the database.
    async fn start() -> Self {
        let folder = TestFolder::create().expect("a folder");
        let running = Running::start(kept_in(&folder));
        let owner = Person::founder(&running.customer.base_url).await;
        let key = owner.key(&SCOPES).await;
        let day = day(&running, 1);
        ingest(&key, &day.0, "doomed", 5).await;
        ingest(&key, &day.0, "kept", 5).await;
        key.all_events().await;
        archive_day(&running, &day.0);
        Self {
            running,
            owner,
            key,
            day,
            folder,
        }
    }

    fn sql(&self, sql: &str) -> String {
        self.running.deployment.sql(sql).trim().to_owned()
    }

    fn drop_day(&self) {
        self.sql(&format!("DROP TABLE audit_events_d{}", self.day.1));
    }

    async fn begin(&self, agent: &str) -> String {
        let wanted = json!({"filter": {"agent_id": [agent]}, "reason": "case 1"});
        begin(&self.owner, &wanted).await
    }

    /// Waits until an erasure has failed once more and tells why.
    async fn fails(&self, id: &str) -> Value {
        eventually(DEADLINE, "it failed", async || {
            let path = format!("/v1/audit/erasures/{id}");
            let erasure = self.key.get_json(&path).await;
            assert_ne!(erasure["state"], "done", "{erasure}");
            erasure["error"].is_string().then_some(erasure)
        })
        .await
    }

    /// The next try would be the last, and comes now; what becomes of the erasure.
    async fn last_try(&self) -> String {
        self.sql("UPDATE erasures SET tries = 20, leased_until = now(), error = NULL WHERE state = 'running'");
        eventually(DEADLINE, "it was tried once more", async || {
            let tried = "SELECT state FROM erasures WHERE tries > 20 AND lease IS NULL AND error IS NOT NULL";
            Some(self.sql(tried)).filter(|state| !state.is_empty())
        })
        .await
    }

    async fn exported(&self) -> usize {
        let only = json!({"event_type": "tool_call"});
        export(&self.key, &only).await.len()
    }

    /// How many of these events the files have that are noted.
    async fn in_files(&self, ids: &[EventId]) -> usize {
        let url = format!("file://{}", self.folder.path().join("files").display());
        let bucket = Bucket::open(&url, &S3Options::default()).expect("a folder");
        let org: OrgId = self.owner.ids().await.1.parse().expect("an id");
        let mut found = 0;
        for file in self.sql("SELECT file FROM archived_days").lines() {
            let events = days::count(&bucket, file).await.expect("a file");
            let file = days::find(&bucket, (file, events), org, ids).await;
            found += file.expect("a file").len();
        }
        found
    }
}

#[tokio::test]
async fn what_an_erasure_left_in_the_archive_is_in_no_export_and_goes_with_the_next() {
    let scene = Scene::start().await;
    scene.drop_day();
    scene.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
         CREATE TRIGGER refuse BEFORE UPDATE ON archived_days FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let id = scene.begin("doomed").await;
    let erasure = scene.fails(&id).await;
    assert_eq!(erasure["erased"], 5, "{erasure}");
    let ids: Vec<EventId> = ids_in(&told(&scene.key).await)
        .iter()
        .map(|id| id.parse().expect("an id"))
        .collect();

    // While it is tried again.
    assert_eq!(scene.in_files(&ids).await, 5);
    assert_eq!(scene.exported().await, 5);
    // And the bucket goes away.
    let archive = scene.folder.path().join("files/archive");
    let away = scene.folder.path().join("away");
    fs::rename(&archive, &away).expect("moved");
    scene.sql("DROP TRIGGER refuse ON archived_days");
    assert_eq!(scene.last_try().await, "failed");
    fs::rename(&away, &archive).expect("moved");
    assert_eq!(scene.in_files(&ids).await, 5);
    assert_eq!(scene.exported().await, 5);

    let again = scene.begin("doomed").await;
    let erasure = done(&scene.key, &again).await;
    assert_eq!(erasure["erased"], 0, "{erasure}");
    assert_eq!(scene.in_files(&ids).await, 0);
    assert_eq!(scene.exported().await, 5);
}

#[tokio::test]
async fn an_erasure_is_not_done_while_a_file_cannot_be_looked_into() {
    let scene = Scene::start().await;
    let noted = scene.sql("SELECT file FROM archived_days");
    let unreadable = noted.replace(".parquet", "a.parquet");
    let unreadable = scene.folder.path().join("files").join(unreadable);
    fs::write(&unreadable, "what a broken disk left").expect("written");
    let id = scene.begin("doomed").await;
    let erasure = scene.fails(&id).await;
    assert_eq!(erasure["state"], "running", "{erasure}");
    fs::remove_file(&unreadable).expect("deleted");
    assert_eq!(done(&scene.key, &id).await["erased"], 5);
}

#[tokio::test]
async fn a_page_that_the_trail_was_told_of_is_erased_however_long_it_takes() {
    let scene = Scene::start().await;
    scene.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
         CREATE TRIGGER refuse BEFORE INSERT ON erased_events FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let id = scene.begin("doomed").await;
    scene.fails(&id).await;
    assert_eq!(told(&scene.key).await.len(), 1);
    assert_eq!(scene.last_try().await, "running");
    scene.sql("DROP TRIGGER refuse ON erased_events");
    scene.sql("UPDATE erasures SET leased_until = now()");
    assert_eq!(done(&scene.key, &id).await["erased"], 5);
    assert_eq!(told(&scene.key).await.len(), 1);
}

#[tokio::test]
async fn an_erasure_waits_while_another_replaces_the_files_of_the_day() {
    let scene = Scene::start().await;
    let noted = || scene.sql("SELECT file FROM archived_days");
    let before = noted();
    let url = scene.running.deployment.setting("POSTGRES__URL");
    let store = Store::new(&url, 1).expect("a store");
    let files = store.files_of_day(Day::from_number(scene.day.1)).await;
    let files = files.expect("ours");
    let id = scene.begin("doomed").await;
    eventually(DEADLINE, "it waits", async || {
        let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND NOT granted
                       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        (scene.sql(waiting) == "1").then_some(())
    })
    .await;
    assert_eq!(noted(), before);
    drop(files);
    assert_eq!(done(&scene.key, &id).await["erased"], 5);
    assert_ne!(noted(), before);
}

#[tokio::test]
async fn a_day_with_another_event_in_the_place_of_an_erased_one_is_archived_again() {
    let scene = Scene::start().await;
    scene.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
         CREATE TRIGGER refuse BEFORE UPDATE ON archived_days FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    // Neither the oldest nor the newest of the day.
    let doomed: EventId = scene
        .key
        .all_events()
        .await
        .iter()
        .filter(|event| event["event_type"] == "tool_call")
        .filter_map(|event| event["id"].as_str()?.parse().ok())
        .nth(4)
        .expect("an event");
    let wanted = json!({"ids": [doomed], "reason": "case 1"});
    let id = begin(&scene.owner, &wanted).await;
    scene.fails(&id).await;
    // As many as before, between the same two, and one of them is in no file: the other, which may be the oldest, goes.
    ingest(&scene.key, &scene.day.0, "late", 2).await;
    scene.key.all_events().await;
    scene.sql("DELETE FROM audit_events WHERE id = (SELECT id FROM audit_events WHERE agent_id = 'late' ORDER BY id LIMIT 1)");

    archive_day(&scene.running, &scene.day.0);
    scene.drop_day();
    let late = json!({"agent_id": "late"});
    assert_eq!(export(&scene.key, &late).await.len(), 1);
}

#[tokio::test]
async fn a_file_that_a_killed_archiver_left_after_an_erasure_goes_when_the_day_is_archived_again() {
    let scene = Scene::start().await;
    let files = scene.folder.path().join("files");
    let noted = scene.sql("SELECT file FROM archived_days");
    let finished = scene.folder.path().join("finished");
    fs::copy(files.join(&noted), &finished).expect("copied");
    let id = scene.begin("doomed").await;
    assert_eq!(done(&scene.key, &id).await["erased"], 5);

    let left = files.join(noted.replace(".parquet", "a.parquet"));
    fs::rename(&finished, &left).expect("moved");
    archive_day(&scene.running, &scene.day.0);
    assert!(!left.exists(), "it has what was erased");
}
