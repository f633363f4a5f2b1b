//! Attacks on a log that a witness watches, by somebody with root on every machine but the witness's: what the log shows instead
//! is not cosigned, the witness keeps what proves it, and whoever verifies is told. Everything else goes on.

use std::{fs, path::Path, process::Command};

use testkit::eventually;

use crate::{
    deployment::DEADLINE,
    proven_exports::{Audit, codes},
    transparency::{Auditor, send},
    witnesses::{Scene, Watcher},
};

/// What of a log an attacker puts back. The key stays: whoever has root can use it.
const LOG_TABLES: [&str; 3] = [
    "transparency_logs",
    "transparency_outbox",
    "transparency_bundles",
];

/// A log of 301 events that were cosigned.
async fn watched() -> (Scene, Watcher) {
    let mut scene = Scene::of_a_log().await;
    let watcher = Watcher::of("w.example/1", &scene.log);
    scene.is_watched_by(&[watcher.setting()]);
    scene.send(300).await;
    scene.is_cosigned_by(&[&watcher.key], DEADLINE).await;
    (scene, watcher)
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").arg(from).arg(to).status();
    assert!(copied.expect("cp runs").success());
}

/// Keeps the log as it is now.
fn save(scene: &Scene) {
    let folder = scene.folder.path();
    copy(&folder.join("files/transparency"), &folder.join("saved"));
    for table in LOG_TABLES {
        let sql = format!("CREATE TABLE saved_{table} AS TABLE {table}");
        scene.deployment.sql(&sql);
    }
}

/// The log is gone, while nobody runs.
fn remove(scene: &mut Scene) {
    scene.server.kill();
    let folder = scene.folder.path();
    fs::remove_dir_all(folder.join("files/transparency")).expect("deleted");
    for table in LOG_TABLES {
        scene.deployment.sql(&format!("DELETE FROM {table}"));
    }
}

/// The log is again as it was when it was saved.
fn put_back(scene: &mut Scene) {
    remove(scene);
    let folder = scene.folder.path();
    copy(&folder.join("saved"), &folder.join("files/transparency"));
    for table in LOG_TABLES {
        let sql = format!("INSERT INTO {table} OVERRIDING SYSTEM VALUE TABLE saved_{table}");
        scene.deployment.sql(&sql);
    }
    scene.start();
}

/// Nothing new is cosigned, whoever asks for the witness is told, and events are taken all the same.
async fn is_found(scene: &mut Scene, watcher: &Watcher) {
    let audit = Audit::of(&scene.customer).await;
    audit.export("after.bundle", &[]);
    let report = audit.report("after.bundle", &["--witness", &watcher.key.to_string()]);
    assert_eq!(codes(&report, "findings"), ["witness_missing"]);
    let size = async || {
        let list = scene.customer.get_json("/v1/log/witnesses").await;
        list["size"].as_u64().expect("a size")
    };
    let before = size().await;
    send(&scene.customer, 10).await;
    eventually(DEADLINE, "the log goes on", async || {
        (size().await >= before + 10).then_some(())
    })
    .await;
    let standing = scene.standing("w.example/1").await;
    assert_eq!(standing["size"], 501, "{standing}");
}

/// The log has 501 cosigned entries, of which the last 200 are gone then.
async fn rolled_back() -> (Scene, Watcher) {
    let (mut scene, watcher) = watched().await;
    save(&scene);
    scene.send(200).await;
    scene.is_cosigned_by(&[&watcher.key], DEADLINE).await;
    put_back(&mut scene);
    (scene, watcher)
}

#[tokio::test]
async fn two_logs_for_two_auditors_are_not_both_cosigned() {
    let (mut scene, watcher) = rolled_back().await;
    scene.send(400).await;
    scene.stands("w.example/1", "inconsistent").await;
    is_found(&mut scene, &watcher).await;
    let evidence = watcher.evidence();
    assert!(
        evidence.iter().all(|file| file.starts_with("unproven-")),
        "{evidence:?}"
    );
    assert!(!evidence.is_empty());
    scene.server.wait_for_line(DEADLINE, |line| {
        line.contains("not what it was before") && line.contains("ERROR")
    });
}

#[tokio::test]
async fn a_log_that_was_rolled_back_is_not_cosigned_any_more() {
    let (mut scene, watcher) = rolled_back().await;
    // As long as nothing is new, what the witness cosigned then is shown, and only its time tells.
    let audit = Audit::of(&scene.customer).await;
    audit.export("before.bundle", &[]);
    let witness = watcher.key.to_string();
    let report = audit.report("before.bundle", &["--witness", &witness]);
    assert_eq!(report["verdict"], "proven", "{report}");
    let lately = ["--witness", &witness, "--witnessed-since", "now"];
    let report = audit.report("before.bundle", &lately);
    assert_eq!(report["verdict"], "not_proven", "{report}");
    assert_eq!(codes(&report, "findings"), ["witness_stale"]);
    let report = audit.report(
        "before.bundle",
        &["--witness", &witness, "--witnessed-since", "1h"],
    );
    assert_eq!(report["verdict"], "proven", "{report}");
    scene.send(10).await;
    scene.stands("w.example/1", "rolled_back").await;
    is_found(&mut scene, &watcher).await;
}

#[tokio::test]
async fn a_log_that_was_swapped_for_a_fresh_one_is_not_cosigned() {
    let (mut scene, watcher) = watched().await;
    scene.send(200).await;
    scene.is_cosigned_by(&[&watcher.key], DEADLINE).await;
    remove(&mut scene);
    scene.start();
    scene.send(600).await;
    // Once there is a log again.
    Auditor::of(&scene.customer).await;
    scene.stands("w.example/1", "inconsistent").await;
    is_found(&mut scene, &watcher).await;
    assert!(!watcher.evidence().is_empty());
}
