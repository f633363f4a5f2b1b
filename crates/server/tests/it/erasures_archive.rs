//! Erasing what is in files of the archive, when files cannot be reached, and while others work on the same day.

use serde_json::{Value, json};
use testkit::{eventually, folder::TestFolder};

use crate::archive::{archive as archive_day, day, ingest};
use crate::deployment::{Customer, DEADLINE, Running};
use crate::erasures::{SCOPES, begin, done, told};
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
