//! The key of a log is replaced while auditors and witnesses go on.

use std::slice;

use serde_json::Value;
use testkit::eventually;
use transparency_log::{SignedCheckpoint, VerifierKey};

use crate::deployment::DEADLINE;
use crate::proven_exports::Audit;
use crate::transparency::send;
use crate::witnesses::{Scene, Watcher};

/// What `watchbell admin rotate-log-key` prints, or its error.
fn rotate(scene: &Scene, options: &[&str]) -> Result<Vec<String>, String> {
    let org = scene.log.split(['/', '+']).nth(1).expect("an organization");
    let arguments = [&["admin", "rotate-log-key", "--org", org], options].concat();
    let mut command = scene.deployment.command(&arguments);
    let is_done = command.wait_until_ended(DEADLINE).success();
    let said = command.lines().join("\n");
    if !is_done {
        return Err(said);
    }
    let printed: Value = serde_json::from_str(&said).expect("JSON");
    let keys = printed["signing"].as_array().expect("keys").iter();
    let keys = keys.map(|key| key.as_str().expect("a key").to_owned());
    Ok(keys.collect())
}

#[tokio::test]
async fn a_key_is_replaced_while_both_sign_and_either_verifies() {
    let mut scene = Scene::of_a_log().await;
    let watcher = Watcher::of("w.example/1", &scene.log);
    scene.is_watched_by(&[watcher.setting()]);
    scene.is_cosigned_by(&[&watcher.key], DEADLINE).await;
    let early = rotate(&scene, &["--retire"]).expect_err("one key");
    assert!(early.contains("add another first"), "{early}");
    let keys = rotate(&scene, &[]).expect("a second key");
    let [old, new] = keys.as_slice() else {
        panic!("{keys:?}");
    };
    assert_eq!(*old, scene.log);
    let twice = rotate(&scene, &[]).expect_err("two keys");
    assert!(twice.contains("retire the older one first"), "{twice}");
    let is_signed_by = |checkpoint: &SignedCheckpoint, key: &str| {
        let key: VerifierKey = key.parse().expect("a key");
        checkpoint.note().verify(slice::from_ref(&key)).is_ok()
    };
    eventually(DEADLINE, "both sign", async || {
        send(&scene.customer, 1).await;
        let checkpoint = scene.checkpoint().await;
        is_signed_by(&checkpoint, old) && is_signed_by(&checkpoint, new)
    })
    .await;
    // The witness has the old key only, and whoever verifies may have either.
    let mut audit = Audit::of(&scene.customer).await;
    audit.export("both.bundle", &[]);
    for key in [old, new] {
        audit.key.clone_from(key);
        let report = audit.report("both.bundle", &["--witness", &watcher.key.to_string()]);
        assert_eq!(report["verdict"], "proven", "{report}");
    }

    let alone = rotate(&scene, &["--retire"]).expect("retired");
    assert_eq!(alone, slice::from_ref(new));
    eventually(DEADLINE, "the new one signs alone", async || {
        send(&scene.customer, 1).await;
        let checkpoint = scene.checkpoint().await;
        is_signed_by(&checkpoint, new) && !is_signed_by(&checkpoint, old)
    })
    .await;
    audit.export("new.bundle", &[]);
    audit.is_proven("new.bundle");
    let listed = scene.customer.get_json("/v1/log/keys").await;
    assert!(listed["keys"][0]["retired_at"].is_string(), "{listed}");
    assert!(listed["keys"][1]["retired_at"].is_null(), "{listed}");
    let (added, retired) = (("log_key.add", new), ("log_key.retire", old));
    eventually(DEADLINE, "the trail has both", async || {
        let events = scene.customer.all_events().await;
        let is_told = |(action, key): (&str, &String)| {
            events.iter().any(|event| {
                event["action"] == action && event["metadata"]["verifier"] == key.as_str()
            })
        };
        is_told(added) && is_told(retired)
    })
    .await;
    // A witness that was not given the new key says so.
    scene.stands("w.example/1", "refused").await;
}
