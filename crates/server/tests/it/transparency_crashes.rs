//! Whatever a sequencer dies of, and whichever of the two places a log is in loses something, the log goes on as one: what
//! was signed once is the beginning of whatever is signed later.

use std::{
    fs,
    path::{Path, PathBuf},
};

use domain::EventId;
use serde_json::{Value, json};
use testkit::{Watchbell, eventually, folder::TestFolder};
use trail_proof::leaf::LEAF_BYTES;
use transparency_log::{Checkpoint, Edge, Hash};

use crate::{
    conservation::metric,
    deployment::{Customer, DEADLINE, Deployment, event, ok},
    transparency::{Auditor, kept_in, send},
};

/// A log of which everything can be put back to how it was.
struct Log {
    folder: TestFolder,
    deployment: Deployment,
    api: Watchbell,
    worker: Option<Watchbell>,
    customer: Customer,
    /// All that was ever signed and seen.
    seen: Vec<Checkpoint>,
}

/// The files of a log, by their names.
type Files = Vec<(PathBuf, Vec<u8>)>;

impl Log {
    fn start() -> Self {
        let folder = TestFolder::create().expect("a folder");
        let deployment = kept_in(&folder);
        let mut api = deployment.serve("api");
        let customer = deployment.customer(&mut api);
        Self {
            folder,
            deployment,
            api,
            worker: None,
            customer,
            seen: Vec::new(),
        }
    }

    fn work(&mut self) {
        self.worker = Some(self.deployment.serve("index"));
    }

    /// The worker dies.
    fn die(&mut self) {
        if let Some(mut worker) = self.worker.take() {
            worker.kill();
        }
    }

    /// The newest checkpoint once it has so many leaves; all that were seen before must be the beginning of it.
    async fn agrees(&mut self, leaves: u64) {
        let auditor = Auditor::of(&self.customer).await;
        let checkpoint = auditor.checkpoint(leaves).await;
        let mut edge = Edge::new();
        let mut seen = self
            .seen
            .iter()
            .filter(|seen| seen.size() > 0)
            .collect::<Vec<_>>();
        seen.sort_by_key(|seen| seen.size());
        let mut seen = seen.into_iter().peekable();
        for leaf in auditor.leaves(&checkpoint).await {
            edge.append(Hash::of_leaf(&leaf.encode())).expect("room");
            while let Some(one) = seen.next_if(|one| one.size() == edge.size()) {
                assert_eq!(
                    *one.root(),
                    edge.root(),
                    "the tree of {} leaves",
                    one.size()
                );
            }
        }
        assert!(seen.next().is_none(), "the log is shorter than it was");
        self.seen.push(checkpoint);
    }

    /// Every event that is listed is a leaf, once, and nothing else is.
    async fn is_whole(&self) {
        let listed = self.customer.all_events().await;
        let id = |event: &Value| {
            let id: EventId = event["id"].as_str()?.parse().ok()?;
            Some(id.uuid().into_bytes())
        };
        let mut listed: Vec<[u8; 16]> = listed.iter().filter_map(id).collect();
        listed.sort_unstable();
        let auditor = Auditor::of(&self.customer).await;
        let checkpoint = auditor.checkpoint(listed.len() as u64).await;
        let leaves = auditor.leaves(&checkpoint).await;
        let mut leaves: Vec<[u8; 16]> = leaves.iter().map(|leaf| leaf.id).collect();
        leaves.sort_unstable();
        assert_eq!(leaves, listed);
    }

    fn files(&self) -> Files {
        let mut files = Files::new();
        collect(&self.folder.path().join("files"), &mut files);
        files.sort();
        files
    }

    fn put_files(&self, files: &[(PathBuf, Vec<u8>)]) {
        let root = self.folder.path().join("files/transparency");
        fs::remove_dir_all(root).expect("there are files");
        for (path, bytes) in files {
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, bytes).expect("a file");
        }
    }

    /// Keeps what PostgreSQL knows of the log under another name.
    fn save(&self) {
        self.deployment.sql(
            "CREATE TABLE saved_logs AS TABLE transparency_logs;
             CREATE TABLE saved_bundles AS TABLE transparency_bundles;
             CREATE TABLE saved_rows AS SELECT id FROM transparency_outbox WHERE first_index IS NOT NULL",
        );
    }

    /// PostgreSQL knows of the log what it knew when it was saved; leaves that came since wait.
    fn forget_since(&self) {
        self.deployment.sql(
            "DELETE FROM transparency_logs; INSERT INTO transparency_logs TABLE saved_logs;
             DELETE FROM transparency_bundles; INSERT INTO transparency_bundles TABLE saved_bundles;
             UPDATE transparency_outbox SET first_index = NULL WHERE id NOT IN (TABLE saved_rows)",
        );
    }
}

fn collect(folder: &Path, files: &mut Files) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            let bytes = fs::read(&path).expect("a file");
            files.push((path, bytes));
        }
    }
}

/// What `after` has and `before` has not.
fn new_files(before: &Files, after: &Files) -> Files {
    let is_new = |file: &&(PathBuf, Vec<u8>)| !before.contains(file);
    after.iter().filter(is_new).cloned().collect()
}

fn is_step(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "steps")
}

/// Changes the last leaf, and the root of the last step with it: what its owner would have who rewrote the log.
fn fork(files: &mut Files) {
    let mut edge = Edge::new();
    let mut steps: Vec<&mut (PathBuf, Vec<u8>)> =
        files.iter_mut().filter(|(path, _)| is_step(path)).collect();
    let last = steps.len() - 1;
    for (place, (_, bytes)) in steps.iter_mut().enumerate() {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n");
        let leaves = end.expect("an empty line") + 2;
        if place == last {
            *bytes.last_mut().expect("a byte") ^= 1;
        }
        for entry in bytes[leaves..].chunks(2 + LEAF_BYTES) {
            edge.append(Hash::of_leaf(&entry[2..])).expect("room");
        }
        if place == last {
            let root = edge.root().to_string();
            bytes[leaves - 2 - root.len()..leaves - 2].copy_from_slice(root.as_bytes());
        }
    }
}

#[tokio::test]
async fn a_sequencer_that_dies_after_any_of_its_writes_leaves_one_log() {
    let mut log = Log::start();
    log.work();
    send(&log.customer, 300).await;
    log.agrees(300).await;
    log.die();
    log.save();
    let before = log.files();
    log.work();
    send(&log.customer, 400).await;
    log.agrees(700).await;
    log.die();
    let after = log.files();
    let (steps, tiles): (Files, Files) = new_files(&before, &after)
        .into_iter()
        .partition(|(path, _)| is_step(path));
    assert!(
        !steps.is_empty() && tiles.len() >= 2,
        "there is something to lose"
    );
    // It dies after so many of its writes; the step is the first of them.
    for written in 0..=tiles.len() + 1 {
        let mut files = before.clone();
        files.extend(steps.iter().take(written).cloned());
        files.extend(tiles.iter().take(written.saturating_sub(1)).cloned());
        log.put_files(&files);
        log.forget_since();
        if written == 0 {
            // Nothing of it was ever shown to anybody.
            log.seen.pop();
        }
        log.work();
        log.agrees(700).await;
        log.is_whole().await;
        log.die();
    }
}

#[tokio::test]
async fn a_bucket_that_lost_what_was_written_last_gets_it_again() {
    let mut log = Log::start();
    log.work();
    send(&log.customer, 300).await;
    log.agrees(300).await;
    let before = log.files();
    send(&log.customer, 300).await;
    log.agrees(600).await;
    log.die();
    log.put_files(&before);
    log.work();
    send(&log.customer, 1).await;
    log.agrees(601).await;
    log.is_whole().await;
}

#[tokio::test]
async fn a_database_that_lost_the_log_finds_it_in_the_files() {
    let mut log = Log::start();
    log.work();
    send(&log.customer, 600).await;
    log.agrees(600).await;
    log.die();
    log.deployment.sql(
        "DELETE FROM transparency_logs; DELETE FROM transparency_bundles;
         DELETE FROM transparency_outbox; UPDATE journal_watermark SET applied_sequence = 0;
         DELETE FROM audit_events",
    );
    log.work();
    send(&log.customer, 10).await;
    log.agrees(610).await;
    // What is read again is not appended again.
    log.is_whole().await;
}

#[tokio::test]
async fn files_that_were_changed_stop_signing_and_nothing_else_until_they_are_put_back() {
    stops_until_it_is_put_back(fork).await;
}

#[tokio::test]
async fn a_file_that_was_cut_off_stops_signing_and_nothing_else_until_it_is_put_back() {
    let cut_off = |files: &mut Files| {
        let mut steps = files.iter_mut().filter(|(path, _)| is_step(path));
        let (_, last) = steps.next_back().expect("a step");
        last.pop().expect("bytes");
    };
    stops_until_it_is_put_back(cut_off).await;
}

async fn stops_until_it_is_put_back(damage: impl Fn(&mut Files)) {
    let mut log = Log::start();
    log.work();
    send(&log.customer, 10).await;
    log.agrees(10).await;
    let signed = log.seen[0].clone();
    log.die();
    let good = log.files();
    let mut damaged = good.clone();
    damage(&mut damaged);
    log.put_files(&damaged);
    log.work();
    send(&log.customer, 5).await;
    let worker = log.worker.as_mut().expect("it works");
    worker.wait_for_line(DEADLINE, |line| {
        line.contains("the transparency log contradicts its files")
    });
    let later = json!({"events": [event("later")]});
    ok(log.customer.post("/v1/audit/events", &later).await).await;
    eventually(DEADLINE, "what came since is listed", async || {
        let events = log.customer.all_events().await;
        events.len() >= 16
    })
    .await;
    let auditor = Auditor::of(&log.customer).await;
    assert_eq!(
        auditor.checkpoint(0).await,
        signed,
        "nothing was signed since"
    );
    let worker = log.customer.at(log.worker.as_mut().expect("it works"));
    eventually(DEADLINE, "whoever watches is told", async || {
        metric(&worker, "watchbell_transparency_logs_stopped").await == Some(1.0)
    })
    .await;
    let says = |log: &Log, text: &str| {
        let mut doctor = log.deployment.command(&["doctor"]);
        doctor.wait_until_ended(DEADLINE);
        doctor.lines().iter().any(|line| line.contains(text))
    };
    assert!(says(&log, "FAIL  logs"));

    log.die();
    log.put_files(&good);
    let org = signed.origin().split_once('/').expect("an organization").1;
    let resume = ["admin", "resume-log", "--org", org];
    let mut resumed = log.deployment.command(&resume);
    assert!(resumed.wait_until_ended(DEADLINE).success());
    let printed: Value = serde_json::from_str(&resumed.lines().join("\n")).expect("JSON");
    assert!(printed["had_stopped"].is_string(), "{printed}");
    let mut again = log.deployment.command(&resume);
    assert!(!again.wait_until_ended(DEADLINE).success(), "it goes on");
    assert!(says(&log, "none has stopped"));
    log.work();
    eventually(DEADLINE, "the trail has who let it go on", async || {
        let events = log.customer.all_events().await;
        events.iter().any(|event| event["action"] == "log.resume")
    })
    .await;
    log.agrees(17).await;
    log.is_whole().await;
    drop(log.api);
}
