//! Erasing events: their bytes and salts are gone everywhere, for good, and every proof stays valid.

use std::{collections::BTreeSet, fs};

use archive::{Bucket, bucket::S3Options, days};
use domain::{EventId, OrgId};
use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{Watchbell, eventually, folder::TestFolder};

use crate::archive::{day, ingest};
use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, ok};
use crate::errors::problem;
use crate::exports::lines;
use crate::people::{Person, Town};
use crate::proven_exports::{Audit, codes};
use crate::transparency::kept_in;

pub(crate) const SCOPES: [&str; 5] = [
    "events:write",
    "events:read",
    "events:export",
    "deliveries:read",
    "policies:read",
];

/// An organization with its owner, and all roles in one process.
struct Scene {
    // In this order: the process ends before its database and its files go.
    server: Watchbell,
    owner: Person,
    key: Customer,
    deployment: Deployment,
    _folder: TestFolder,
}

impl Scene {
    async fn start() -> Self {
        let folder = TestFolder::create().expect("a folder");
        let deployment = kept_in(&folder);
        let mut server = deployment.serve_all();
        let owner = Person::founder(&server.url(DEADLINE)).await;
        let key = owner.key(&SCOPES).await;
        Self {
            server,
            owner,
            key,
            deployment,
            _folder: folder,
        }
    }

    /// Has something erased, and waits until it is.
    async fn erase(&self, wanted: &Value) -> Value {
        let id = begin(&self.owner, wanted).await;
        done(&self.key, &id).await
    }

    /// The tables that have a text somewhere, as it is or in base64.
    fn tables_with(&self, text: &str) -> String {
        self.deployment.sql(&format!(
            "SELECT coalesce(string_agg(tablename, ','), '') FROM pg_tables WHERE schemaname = 'public' AND
             query_to_xml(format('SELECT * FROM %I', tablename), true, false, '')::text LIKE '%{text}%'"
        ))
        .trim()
        .to_owned()
    }
}

/// Asks for an erasure; its id.
pub(crate) async fn begin(owner: &Person, wanted: &Value) -> String {
    let answer = owner.post("/v1/audit/erasures", wanted).await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    let location = answer.headers()["location"].to_str().expect("a path");
    let location = location.to_owned();
    let begun: Value = answer.json().await.expect("JSON");
    let id = begun["id"].as_str().expect("an id").to_owned();
    assert_eq!(location, format!("/v1/audit/erasures/{id}"));
    id
}

pub(crate) async fn done(key: &Customer, id: &str) -> Value {
    eventually(DEADLINE * 4, "it is erased", async || {
        let erasure = key.get_json(&format!("/v1/audit/erasures/{id}")).await;
        assert_ne!(erasure["state"], "failed", "{erasure}");
        (erasure["state"] == "done").then_some(erasure)
    })
    .await
}

/// The events that tell of erasures.
pub(crate) async fn told(key: &Customer) -> Vec<Value> {
    let events = key.all_events().await.into_iter();
    events
        .filter(|event| event["event_type"] == "erasure")
        .collect()
}

/// The ids that events say were erased.
pub(crate) fn ids_in(told: &[Value]) -> Vec<String> {
    let lists = told.iter().map(|event| &event["metadata"]["ids"]);
    let ids = lists.flat_map(|ids| ids.as_array().expect("a list").iter());
    ids.map(|id| id.as_str().expect("an id").to_owned())
        .collect()
}

pub(crate) async fn export(key: &Customer, filter: &Value) -> Vec<Value> {
    let answer = key.post("/v1/audit/export", filter).await;
    assert_eq!(answer.status(), 200);
    lines(&answer.bytes().await.expect("a body"))
}

#[tokio::test]
async fn what_is_erased_is_gone_everywhere_and_everything_else_is_still_proven() {
    let scene = Scene::start().await;
    let mut ids = Vec::new();
    for number in 0..6 {
        let mut one = event(&format!("agent-{number}"));
        one["metadata"] = json!({"patient": format!("patient-{number}-of-ward")});
        ids.push(scene.key.ingest(&one).await);
    }
    scene.key.listed_ids().await;
    let salt = scene
        .deployment
        .sql("SELECT encode(salt, 'base64') FROM audit_events WHERE agent_id = 'agent-1'");
    assert_eq!(salt.trim().len(), 24, "{salt}");
    assert_ne!(scene.tables_with("patient-1-of-ward"), "");
    assert_ne!(scene.tables_with(salt.trim()), "");

    let wanted = json!({"ids": [ids[1], ids[2]], "reason": "Art. 17, case 2041"});
    let erasure = scene.erase(&wanted).await;

    assert_eq!(erasure["erased"], 2, "{erasure}");
    assert_eq!(erasure["not_found"], json!([]));
    assert_eq!(erasure["reason"], "Art. 17, case 2041");
    assert!(erasure["journal_until"].as_str() > erasure["started_at"].as_str());
    // Lists, and one event.
    let listed = scene.key.listed_ids().await;
    assert!(!listed.contains(&ids[1]) && listed.contains(&ids[3]));
    let told = told(&scene.key).await;
    let by = told[0]["id"].as_str().expect("an id");
    for path in ["", "/proof"] {
        let path = format!("/v1/audit/events/{}{path}", ids[1]);
        let gone = problem(scene.key.get(&path).await, 410).await;
        assert!(gone["detail"].as_str().expect("a text").contains(by));
    }
    // The event says who and why.
    let (owner, _) = scene.owner.ids().await;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["agent_id"], owner.as_str());
    assert_eq!(told[0]["metadata"]["reason"], "Art. 17, case 2041");
    assert_eq!(told[0]["metadata"]["erasure_id"], erasure["id"]);
    let named: BTreeSet<String> = ids_in(&told).into_iter().collect();
    assert_eq!(named, [ids[1].clone(), ids[2].clone()].into());
    // The database.
    for text in ["patient-1-of-ward", "patient-2-of-ward", salt.trim()] {
        assert_eq!(scene.tables_with(text), "", "{text}");
    }
    let counted = "SELECT count(*) FROM event_counts WHERE value IN ('agent-1', 'agent-2')";
    assert_eq!(scene.deployment.sql(counted).trim(), "0");
    let counted = "SELECT sum(events) FROM event_counts WHERE field = 'event_type' AND grain = 'day' AND value = 'tool_call'";
    assert_eq!(scene.deployment.sql(counted).trim(), "4");
    // Exports, and what proves itself.
    let exported = export(&scene.key, &json!({"event_type": "tool_call"})).await;
    assert_eq!(exported.len(), 4);
    let audit = Audit::of(&scene.key).await;
    audit.export("all.bundle", &[]);
    let report = audit.is_proven("all.bundle");
    assert_eq!(report["counts"]["erased"], 2, "{report}");
    assert_eq!(codes(&report, "notes"), ["no_witness"]);
    let text = fs::read_to_string(audit.terminal.path("all.bundle")).expect("a file");
    assert!(text.contains("patient-3-of-ward") && !text.contains("patient-1-of-ward"));
    // It is in the list of erasures.
    let list = scene.key.get_json("/v1/audit/erasures").await;
    assert_eq!(list["data"][0]["id"], erasure["id"]);
}

#[tokio::test]
async fn what_is_erased_is_gone_from_the_files_of_the_archive_and_others_stay() {
    let folder = TestFolder::create().expect("a folder");
    let mut running = Running::start(kept_in(&folder));
    let other = running.deployment.customer(&mut running.server);
    let url = running.customer.base_url.clone();
    let owner = Person::founder(&url).await;
    let key = owner.key(&SCOPES).await;
    let days: Vec<(String, i64)> = (1..=2).map(|ago| day(&running, ago)).collect();
    for (day, _) in &days {
        ingest(&key, day, "doomed", 40).await;
        ingest(&key, day, "kept", 50).await;
        ingest(&other, day, "theirs", 60).await;
    }
    key.all_events().await;
    other.all_events().await;
    // One day is in the archive alone, the other in both places.
    for (day, _) in &days {
        crate::archive::archive(&running, day);
    }
    let deployment = &running.deployment;
    deployment.sql(&format!("DROP TABLE audit_events_d{}", days[1].1));
    let files = "SELECT string_agg(file, ' ') FROM archived_days";
    let before = deployment.sql(files);
    let noted = before.split_whitespace().next().expect("a file");
    fs::copy(
        folder.path().join("files").join(noted),
        folder.path().join("old"),
    )
    .expect("copied");

    let wanted = json!({"filter": {"agent_id": ["doomed"]}, "reason": "case 1"});
    let id = begin(&owner, &wanted).await;
    let erasure = done(&key, &id).await;

    assert_eq!(erasure["erased"], 80, "{erasure}");
    assert_eq!(erasure["filter"]["agent_id"], json!(["doomed"]));
    let doomed = ids_in(&told(&key).await);
    assert_eq!(doomed.len(), 80);
    let doomed: Vec<EventId> = doomed.iter().map(|id| id.parse().expect("an id")).collect();
    // There is one file for each day, another than before, and none has any of them.
    let after = deployment.sql(files);
    let files = folder.path().join("files");
    let bucket = Bucket::open(
        &format!("file://{}", files.display()),
        &S3Options::default(),
    );
    let bucket = bucket.expect("a folder");
    let listed = bucket.list("archive").await.expect("a list");
    assert_eq!(listed.len(), 2, "{listed:?}");
    let org: OrgId = owner.ids().await.1.parse().expect("an id");
    for file in &listed {
        assert!(after.contains(file) && !before.contains(file), "{file}");
        let events = days::count(&bucket, file).await.expect("a file");
        assert_eq!(events, 110, "{file}");
        let found = days::find(&bucket, (file, events), org, &doomed).await;
        assert!(found.expect("a file").is_empty());
    }
    for (who, left) in [(&key, 100), (&other, 120)] {
        let exported = export(who, &json!({"event_type": "tool_call"})).await;
        assert_eq!(exported.len(), left);
    }
    let audit = Audit::of(&key).await;
    audit.export("all.bundle", &[]);
    let report = audit.is_proven("all.bundle");
    assert_eq!(report["counts"]["erased"], 80, "{report}");

    // As who is killed after a file was replaced and before it is gone, or in the midst of archiving, leaves it.
    let day = |file: &str| file.split('/').nth(2).map(str::to_owned);
    let file = listed.iter().find(|file| day(file) == day(noted));
    let file = file.expect("a file of the same day");
    let stray = |name: &str| file.replace(".parquet", name);
    for name in ["a.parquet", "b.parquet"] {
        fs::copy(folder.path().join("old"), files.join(stray(name))).expect("copied");
    }
    fs::copy(files.join(file), files.join(stray("c.parquet"))).expect("copied");
    deployment.sql("UPDATE erasures SET state = 'running', leased_until = now()");
    assert_eq!(done(&key, &id).await["erased"], 80);
    let left: BTreeSet<String> = bucket
        .list("archive")
        .await
        .expect("a list")
        .into_iter()
        .collect();
    let mut expected: BTreeSet<String> = listed.iter().cloned().collect();
    expected.insert(stray("c.parquet"));
    assert_eq!(left, expected, "what has nothing erased does no harm");
    fs::remove_file(files.join(stray("c.parquet"))).expect("deleted");

    // Archived again, the day has the same events, once.
    crate::archive::archive(&running, &days[0].0);
    assert_eq!(bucket.list("archive").await.expect("a list").len(), 2);

    // Of a day of which nothing is left there is no file.
    let wanted = json!({"filter": {"agent_id": ["kept"]}, "reason": "case 2"});
    let id = begin(&owner, &wanted).await;
    assert_eq!(done(&key, &id).await["erased"], 100);
    assert_eq!(
        export(&key, &json!({"event_type": "tool_call"})).await,
        Vec::<Value>::new()
    );
    assert_eq!(
        export(&other, &json!({"event_type": "tool_call"}))
            .await
            .len(),
        120
    );
}

#[tokio::test]
async fn an_erasure_that_nobody_was_told_of_is_not_proven() {
    let scene = Scene::start().await;
    let ids = [
        scene.key.ingest(&event("agent-1")).await,
        scene.key.ingest(&event("agent-2")).await,
    ];
    scene.key.listed_ids().await;
    let audit = Audit::of(&scene.key).await;
    // By somebody with root on the database: one names no event, one an event that says nothing of it.
    let ours = |id: &str| id.parse::<EventId>().expect("an id").uuid();
    let nobodys = "01890000-0000-7000-8000-000000000000";
    for (by, code) in [
        (nobodys.to_owned(), "erasure_missing"),
        (ours(&ids[1]).to_string(), "erasure_unfounded"),
    ] {
        scene.deployment.sql(&format!(
            "INSERT INTO erased_events SELECT org_id, id, id, '{by}' FROM audit_events WHERE agent_id = 'agent-1'
             ON CONFLICT DO NOTHING;
             DELETE FROM audit_events WHERE agent_id = 'agent-1';
             UPDATE erased_events SET erasure_event = '{by}'"
        ));
        audit.export("all.bundle", &[]);
        let report = audit.report("all.bundle", &[]);
        assert_eq!(codes(&report, "findings"), [code], "{report}");
    }
}

#[tokio::test]
async fn the_journal_applied_again_does_not_bring_an_erased_event_back() {
    let mut scene = Scene::start().await;
    let ids = [
        scene.key.ingest(&event("agent-1")).await,
        scene.key.ingest(&event("agent-2")).await,
    ];
    // What the client names itself can come again from the client, too.
    let mut named = event("agent-3");
    named["client_event_id"] = json!("mine-1");
    named["occurred_at"] = json!(domain::Timestamp::from_unix_millis(
        EventId::time(ids[0].parse().expect("an id")).unix_millis()
    ));
    let named_id = scene.key.ingest(&named).await;
    let wanted = json!({"ids": [ids[0], named_id], "reason": "case 1"});
    assert_eq!(scene.erase(&wanted).await["erased"], 2);

    scene.server.kill();
    scene
        .deployment
        .sql("UPDATE journal_watermark SET applied_sequence = 0");
    scene.server = scene.deployment.serve_all();
    scene.key = scene.key.at(&mut scene.server);

    assert_eq!(scene.key.ingest(&named).await, named_id);
    let last = scene.key.ingest(&event("agent-4")).await;
    let listed = scene.key.listed_ids().await;
    assert!(listed.contains(&last) && listed.contains(&ids[1]));
    assert!(!listed.contains(&ids[0]) && !listed.contains(&named_id));
    let audit = Audit::of(&scene.key).await;
    audit.export("all.bundle", &[]);
    assert_eq!(audit.is_proven("all.bundle")["counts"]["erased"], 2);
}

#[tokio::test]
async fn kill_9_in_the_middle_of_erasing_thousands_leaves_nothing_behind_and_tells_nothing_twice() {
    const DOOMED: usize = 3_000;
    let folder = TestFolder::create().expect("a folder");
    let deployment = kept_in(&folder);
    let mut server = deployment.serve("api");
    let mut index = deployment.serve("index");
    let owner = Person::founder(&server.url(DEADLINE)).await;
    let key = owner.key(&SCOPES).await;
    for agent in ["doomed", "kept", "doomed", "doomed"] {
        let events: Vec<Value> = (0..1_000).map(|_| event(agent)).collect();
        let batch = json!({"events": events});
        ok(key.post("/v1/audit/events", &batch).await).await;
    }
    // It stops in the middle of a page that the trail was told of.
    deployment.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF (SELECT count(*) FROM erased_events) > 1400 THEN RAISE EXCEPTION 'not now'; END IF;
             RETURN NEW; END $$;
         CREATE TRIGGER refuse BEFORE INSERT ON erased_events FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let wanted = json!({"filter": {"agent_id": ["doomed"]}, "reason": "case 1"});
    let id = begin(&owner, &wanted).await;
    index.wait_for_line(DEADLINE * 2, |line| {
        line.contains("an erasure failed; will retry")
    });
    index.kill();
    let erasure = key.get_json(&format!("/v1/audit/erasures/{id}")).await;
    assert_eq!(erasure["state"], "running");
    let halfway = erasure["erased"].as_u64().expect("a number");
    assert!((1..DOOMED as u64).contains(&halfway), "{erasure}");

    deployment.sql("DROP TRIGGER refuse ON erased_events");
    let _index = deployment.serve("index");
    let erasure = done(&key, &id).await;

    assert_eq!(erasure["erased"], DOOMED, "{erasure}");
    let left = key.all_events().await;
    let of = |agent: &str| left.iter().filter(|one| one["agent_id"] == agent).count();
    assert_eq!((of("doomed"), of("kept")), (0, 1_000));
    let told = told(&key).await;
    assert_eq!(told.len(), DOOMED / 300);
    let named = ids_in(&told);
    let once: BTreeSet<&String> = named.iter().collect();
    assert_eq!((named.len(), once.len()), (DOOMED, DOOMED));
    let audit = Audit::of(&key).await;
    audit.export("all.bundle", &[]);
    let report = audit.is_proven("all.bundle");
    assert_eq!(report["counts"]["erased"], DOOMED, "{report}");
}

#[tokio::test]
async fn nothing_of_another_organization_is_erased_and_no_erasure_and_what_is_not_there_is_named() {
    let mut scene = Scene::start().await;
    let other = scene.deployment.customer(&mut scene.server);
    let theirs = other.ingest(&event("agent-1")).await;
    let ours = scene.key.ingest(&event("agent-1")).await;
    let nobodys = EventId::new(EventId::time(ours.parse().expect("an id")), [7; 10]).to_string();

    let wanted = json!({"ids": [theirs, ours, nobodys, ours], "reason": "case 1"});
    let erasure = scene.erase(&wanted).await;
    assert_eq!(erasure["erased"], 1, "{erasure}");
    let lost: BTreeSet<&str> = erasure["not_found"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(lost, BTreeSet::from([&*theirs, &*nobodys]));
    assert!(other.listed_ids().await.contains(&theirs));
    problem(other.get(&format!("/v1/audit/events/{ours}")).await, 404).await;

    // Again, and with the erasure itself.
    let by = told(&scene.key).await[0]["id"].clone();
    let again = scene
        .erase(&json!({"ids": [ours, by], "reason": "case 2"}))
        .await;
    assert_eq!(
        (&again["erased"], &again["already_erased"], &again["kept"]),
        (&json!(0), &json!(1), &json!(1)),
        "{again}"
    );
    let everything =
        json!({"filter": {"event_type": ["erasure", "tool_call"]}, "reason": "case 3"});
    let again = scene.erase(&everything).await;
    assert_eq!((&again["erased"], &again["kept"]), (&json!(0), &json!(1)));
    assert_eq!(told(&scene.key).await.len(), 1);
}

#[tokio::test]
async fn only_an_owner_erases_and_says_what_and_why() {
    let mut town = Town::start();
    let owner = town.owner().await;
    let admin = town.invited(&owner, "admin").await;
    let key = owner.key(&SCOPES).await;
    let id = key.ingest(&event("agent-1")).await;
    let wanted = json!({"ids": [id], "reason": "case 1"});

    problem(admin.post("/v1/audit/erasures", &wanted).await, 403).await;
    problem(key.post("/v1/audit/erasures", &wanted).await, 403).await;
    let stranger = town.stranger();
    problem(stranger.post("/v1/audit/erasures", &wanted).await, 401).await;
    let many: Vec<&str> = vec![&id; 1_001];
    for refused in [
        json!({"ids": [id]}),
        json!({"ids": [id], "reason": "  "}),
        json!({"ids": [id], "reason": "x".repeat(501)}),
        json!({"ids": [id], "reason": "a\u{0}b"}),
        json!({"ids": [], "reason": "case 1"}),
        json!({"ids": many, "reason": "case 1"}),
        json!({"ids": ["evt_1"], "reason": "case 1"}),
        json!({"reason": "case 1"}),
        json!({"ids": [id], "filter": {"agent_id": "a"}, "reason": "case 1"}),
        json!({"filter": {}, "reason": "case 1"}),
    ] {
        problem(owner.post("/v1/audit/erasures", &refused).await, 422).await;
    }
    for refused in [
        json!({"ids": [id], "reason": "case 1", "ever": true}),
        json!({"filter": {"agent": "a"}, "reason": "case 1"}),
    ] {
        problem(owner.post("/v1/audit/erasures", &refused).await, 400).await;
    }
    // Nobody but the server says that something was erased.
    let mut forged = event("agent-1");
    forged["event_type"] = json!("erasure");
    problem(
        key.post("/v1/audit/events", &json!({"events": [forged]}))
            .await,
        422,
    )
    .await;

    // As many as may wait for a worker.
    for _ in 0..5 {
        begin(&owner, &wanted).await;
    }
    problem(owner.post("/v1/audit/erasures", &wanted).await, 409).await;
    let mut index = town.deployment.serve("index");
    let list = key.get_json("/v1/audit/erasures?limit=2").await;
    assert!(list["next_cursor"].is_string());
    let first = list["data"][0]["id"].as_str().expect("an id").to_owned();
    done(&key, &first).await;
    problem(key.get("/v1/audit/erasures/era_1").await, 404).await;
    index.kill();
    town.server.kill();
}
