//! Which engines `watchbell dev` runs with: those that are named, and Redis only if there is one.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::folder::TestFolder;

use crate::deployment::{DEADLINE, event};
use crate::dev::{Dev, customer, wait_for_verified};

#[test]
fn dev_says_which_engines_it_would_use_and_where_they_are() {
    let folder = TestFolder::create().expect("a folder");
    let path = bare_path(folder.path());
    let path = path.to_str().expect("UTF-8");
    let named = folder.path().join("named");
    let list = || {
        let variables = [
            ("PATH", path),
            ("WATCHBELL_ENGINES", named.to_str().expect("UTF-8")),
        ];
        let mut dev = Dev::start_with(&["--engines"], &variables);
        assert_eq!(dev.process.wait_until_ended(DEADLINE).code(), Some(0));
        dev.process.stdout()
    };

    let lines = list();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].starts_with("postgres   1"), "{lines:?}");
    assert!(lines[1].starts_with("nats       2."), "{lines:?}");
    assert_eq!(
        lines[2],
        "redis      missing    Redis 7 or newer, or Valkey; limits are counted in memory"
    );

    fs::create_dir(&named).expect("a folder");
    let program = named.join("nats-server");
    fs::write(&program, "#!/bin/sh\necho nats-server: v2.99.0\n").expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("chmod");
    let expected = format!(
        "nats       2.99.0     named in WATCHBELL_ENGINES   {}",
        program.display()
    );
    assert_eq!(list()[1], expected);
}

#[tokio::test]
async fn dev_without_redis_delivers_and_limits() {
    let folder = TestFolder::create().expect("a folder");
    let path = bare_path(folder.path());
    let variables = [("PATH", path.to_str().expect("UTF-8"))];
    let mut dev = Dev::start_with(&["--json"], &variables);
    let said = dev.ready();
    assert_eq!(said["redis_url"], Value::Null);
    let customer = customer(&said);
    customer.ingest(&event("agent-1")).await;
    wait_for_verified(&mut dev, "agent-1");
    let answer = customer.get("/v1/audit/events").await;
    assert!(answer.headers().contains_key("ratelimit"));
}

/// A folder for `PATH` with what `watchbell dev` calls, and no engine.
fn bare_path(folder: &Path) -> PathBuf {
    let path = folder.join("bin");
    fs::create_dir(&path).expect("a folder");
    for program in ["id", "setpriv", "sh", "true"] {
        let folders = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(program));
        let found = folders.into_iter().find(|program| program.exists());
        // Only Linux has all of them.
        if let Some(found) = found {
            symlink(found, path.join(program)).expect("a link");
        }
    }
    path
}
