//! Exports that are made in the background: files in a folder or a bucket, whoever dies meanwhile.

use std::collections::BTreeSet;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testkit::{S3Server, Watchbell, eventually, folder::TestFolder};

use crate::deployment::{Customer, DEADLINE, Deployment, event, http, ok};
use crate::errors::problem;
use crate::exports::lines;

/// A folder that exports are kept in.
fn kept_in(folder: &TestFolder) -> Deployment {
    let url = format!("file://{}", folder.path().join("files").display());
    Deployment::new()
        .with("FILES__URL", &url)
        .with("FILES__EXPORT_EVENTS_MAX", "500")
}

/// An api and a worker; links are made for where the api is.
fn start(deployment: Deployment) -> (Deployment, Watchbell, Watchbell, Customer) {
    let mut api = deployment.serve("api");
    let worker = deployment.serve("index");
    let customer = deployment.customer(&mut api);
    (deployment, api, worker, customer)
}

async fn fill(customer: &Customer, batches: u32) -> BTreeSet<String> {
    let batch: Vec<Value> = (0..1_000)
        .map(|one| event(&format!("agent-{one}")))
        .collect();
    let mut ids = BTreeSet::new();
    for _ in 0..batches {
        let answer = customer
            .post("/v1/audit/events", &json!({"events": batch}))
            .await;
        let answer = ok(answer).await;
        let events = answer["events"].as_array().expect("events").iter();
        ids.extend(events.map(|event| event["id"].as_str().expect("an id").to_owned()));
    }
    customer.all_events().await;
    ids
}

async fn ask(customer: &Customer, body: &Value) -> Value {
    let answer = customer.post("/v1/audit/export", body).await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    let location = answer.headers()["location"]
        .to_str()
        .expect("plain")
        .to_owned();
    let export = ok(answer).await;
    assert_eq!(location, path(&export));
    assert_eq!(export["state"], "queued");
    export
}

fn path(export: &Value) -> String {
    format!(
        "/v1/audit/exports/{}",
        export["id"].as_str().expect("an id")
    )
}

async fn in_state(customer: &Customer, export: &Value, state: &str) -> Value {
    let what = format!("{} is {state}", export["id"]);
    eventually(DEADLINE * 2, &what, async || {
        let export = customer.get_json(&path(export)).await;
        (export["state"] == state).then_some(export)
    })
    .await
}

/// Downloads the files by their links, at the api's own address, and checks each against its checksum.
async fn files(customer: &Customer, export: &Value) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for file in export["files"].as_array().expect("files") {
        let answer = http()
            .get(link(customer, file))
            .send()
            .await
            .expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["cache-control"], "no-store");
        assert_eq!(answer.content_length(), file["bytes"].as_u64());
        let bytes = answer.bytes().await.expect("a body").to_vec();
        assert_eq!(file["sha256"], hex::encode(Sha256::digest(&bytes)));
        files.push(bytes);
    }
    files
}

fn link(customer: &Customer, file: &Value) -> String {
    let url = file["url"].as_str().expect("a link");
    let (_, path) = url.split_once("/v1/").expect("a path");
    format!("{}/v1/{path}", customer.base_url)
}

/// Every event of NDJSON files, which must be in order and none twice.
fn ids(files: &[Vec<u8>]) -> BTreeSet<String> {
    let events: Vec<Value> = files.iter().flat_map(|file| lines(file)).collect();
    let ids: Vec<String> = events
        .iter()
        .map(|event| event["id"].as_str().expect("an id").to_owned())
        .collect();
    assert!(
        ids.windows(2).all(|two| two[0] > two[1]),
        "newest first, none twice"
    );
    ids.into_iter().collect()
}

#[tokio::test]
async fn an_export_becomes_files_behind_links_that_run_out() {
    let folder = TestFolder::create().expect("a folder");
    let (deployment, _api, _worker, customer) = start(kept_in(&folder));
    let sent = fill(&customer, 5).await;
    let asked = ask(
        &customer,
        &json!({"async": true, "agent_id": ["agent-1", "agent-2"]}),
    )
    .await;
    let few = in_state(&customer, &asked, "done").await;
    assert_eq!(few["events"], 10);
    assert_eq!(ids(&files(&customer, &few).await).len(), 10);

    let asked = ask(
        &customer,
        &json!({"async": true, "event_type": "tool_call"}),
    )
    .await;
    let done = in_state(&customer, &asked, "done").await;
    assert_eq!(
        (&done["events"], &done["progress"]),
        (&json!(5_000), &json!(1.0))
    );
    assert!(done["files"].as_array().expect("files").len() > 1, "{done}");
    assert_eq!(ids(&files(&customer, &done).await), sent);
    assert_eq!(done["files"][0]["name"], "audit-events-0001.ndjson");
    let listed = customer.get_json("/v1/audit/exports?limit=1").await;
    assert_eq!(listed["data"][0]["id"], done["id"]);
    assert!(listed["next_cursor"].is_string());
    let trail = customer.all_events().await;
    let own: Vec<&Value> = trail
        .iter()
        .filter(|event| event["event_type"] == "export")
        .collect();
    assert_eq!(own[0]["metadata"]["export_id"], done["id"]);

    // A link is for its file and its time.
    let whole = link(&customer, &done["files"][0]);
    let (address, query) = whole.split_once('?').expect("a query");
    let (expires, signature) = query.split_once('&').expect("two parameters");
    let seconds: i64 = expires
        .strip_prefix("expires=")
        .expect("a time")
        .parse()
        .expect("seconds");
    for wrong in [
        format!("{address}?expires={}&{signature}", seconds + 1),
        format!("{address}?expires=1700000000&{signature}"),
        format!("{}?{query}", address.replace("0001", "0002")),
        format!("{address}?{expires}&signature=00"),
        format!("{address}%00?{query}"),
        address.to_owned(),
    ] {
        let answer = http().get(&wrong).send().await.expect("an answer");
        let problem = problem(answer, 404).await;
        let detail = problem["detail"].as_str().expect("a text");
        assert!(
            detail.contains("Request the export again"),
            "{wrong}: {detail}"
        );
    }

    // Deleted, with its files and its links.
    let canceled = customer.request(Method::DELETE, &path(&done)).send().await;
    assert_eq!(
        canceled.expect("an answer").status(),
        StatusCode::NO_CONTENT
    );
    let gone = customer.get_json(&path(&done)).await;
    assert_eq!(
        (&gone["state"], &gone["files"]),
        (&json!("canceled"), &json!([]))
    );
    problem(http().get(&whole).send().await.expect("an answer"), 404).await;
    let left = deployment.sql("SELECT count(*) FROM export_files");
    assert_eq!(left.trim(), "1", "those of the other export");
}

#[tokio::test]
async fn an_export_whose_worker_is_killed_is_finished_by_another() {
    let folder = TestFolder::create().expect("a folder");
    let (deployment, _api, mut worker, customer) = start(kept_in(&folder));
    let sent = fill(&customer, 4).await;
    // Each file takes so long that the worker dies among them.
    deployment.sql(
        "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS
         $$BEGIN PERFORM pg_sleep(0.7); RETURN NEW; END$$;
         CREATE TRIGGER slowly BEFORE INSERT ON export_files FOR EACH ROW EXECUTE FUNCTION slowly()",
    );
    let asked = ask(&customer, &json!({"async": true, "compression": "zstd"})).await;
    let (mut seen, mut most) = (0, 0.0);
    eventually(DEADLINE, "some files are complete", async || {
        let export = customer.get_json(&path(&asked)).await;
        let progress = export["progress"].as_f64().expect("a number");
        assert!(progress >= most, "progress grows: {most}, {progress}");
        most = progress;
        seen = export["files"].as_array().expect("files").len();
        (seen >= 2 && progress > 0.0).then_some(())
    })
    .await;
    worker.kill();
    let export = customer.get_json(&path(&asked)).await;
    assert_eq!(export["state"], "running", "it was killed in the midst");
    let complete = export["files"].clone();
    let _other = deployment.serve("index");
    let done = in_state(&customer, &asked, "done").await;
    let files = files(&customer, &done).await;
    let complete = complete.as_array().expect("files");
    for (before, after) in complete
        .iter()
        .zip(done["files"].as_array().expect("files"))
    {
        assert_eq!(
            before["sha256"], after["sha256"],
            "what was complete is kept"
        );
    }
    let files: Vec<Vec<u8>> = files
        .iter()
        .map(|file| zstd::decode_all(file.as_slice()).expect("whole"))
        .collect();
    assert_eq!(ids(&files), sent);
}

#[tokio::test]
async fn an_export_that_is_canceled_or_expired_leaves_nothing() {
    let folder = TestFolder::create().expect("a folder");
    let deployment = kept_in(&folder);
    let mut api = deployment.serve("api");
    let mut worker = deployment.serve("index");
    let customer = deployment.customer(&mut api);
    fill(&customer, 2).await;
    let first = ask(&customer, &json!({"async": true})).await;
    let canceled = customer.request(Method::DELETE, &path(&first)).send().await;
    assert_eq!(
        canceled.expect("an answer").status(),
        StatusCode::NO_CONTENT
    );
    let second = ask(&customer, &json!({"async": true})).await;
    in_state(&customer, &second, "done").await;
    assert_eq!(customer.get_json(&path(&first)).await["state"], "canceled");
    deployment.sql("UPDATE exports SET expires_at = now() - interval '1 second'");
    worker.kill();
    let _sweeper = deployment.serve("index");
    let expired = in_state(&customer, &second, "expired").await;
    assert_eq!(expired["files"], json!([]));
    let left = walk(&folder.path().join("files"));
    assert_eq!(left, Vec::<String>::new());
}

#[tokio::test]
async fn an_export_that_took_every_worker_down_with_it_is_given_up() {
    let folder = TestFolder::create().expect("a folder");
    let deployment = kept_in(&folder);
    let mut api = deployment.serve("api");
    let customer = deployment.customer(&mut api);
    let asked = ask(&customer, &json!({"async": true})).await;
    // What six workers leave behind that took it and were killed.
    deployment.sql("UPDATE exports SET state = 'running', tries = 6");
    let _worker = deployment.serve("index");
    in_state(&customer, &asked, "failed").await;
}

/// The files below a folder.
fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            files.extend(walk(&entry.path()));
        } else {
            files.push(entry.path().display().to_string());
        }
    }
    files
}

#[tokio::test]
async fn files_are_kept_in_a_bucket_as_in_a_folder() {
    let bucket = S3Server::start().expect("an S3 server");
    let mut deployment = Deployment::new().with("FILES__EXPORT_EVENTS_MAX", "500");
    for (name, value) in bucket.settings() {
        deployment = deployment.with(name, &value);
    }
    let (_deployment, _api, worker, customer) = start(deployment);
    let sent = fill(&customer, 3).await;
    let asked = ask(
        &customer,
        &json!({"async": true, "event_type": "tool_call"}),
    )
    .await;
    let done = in_state(&customer, &asked, "done").await;
    assert_eq!(ids(&files(&customer, &done).await), sent);
    assert!(!walk(&bucket.kept()).is_empty(), "they are in the bucket");
    let canceled = customer.request(Method::DELETE, &path(&done)).send().await;
    assert_eq!(
        canceled.expect("an answer").status(),
        StatusCode::NO_CONTENT
    );
    assert_eq!(walk(&bucket.kept()), Vec::<String>::new());
    let said = worker.lines().join("\n");
    assert!(!said.contains("test-secret"), "a secret is never logged");
}
