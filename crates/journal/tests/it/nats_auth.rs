//! A server that asks who is there.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use journal::Journal;
use testkit::own;

use crate::options;

/// Has the server beside this log ask for it, from its next start.
fn ask_for(authorization: &str, log: &Path) {
    let config = OpenOptions::new()
        .append(true)
        .open(log.with_file_name("nats.conf"));
    let mut config = config.expect("the server's settings");
    writeln!(config, "authorization {{ {authorization} }}").expect("written");
}

/// Whether somebody who says this gets in.
async fn is_let_in(url: &str, said: &str) -> bool {
    let mut options = options(1);
    options.url = url.replace("://", &format!("://{said}"));
    match Journal::connect(&options).await {
        Ok(journal) => journal.prepare().await.is_ok(),
        Err(error) => {
            let error = format!("{error:?}");
            assert!(error.to_lowercase().contains("authorization"), "{error}");
            false
        }
    }
}

#[tokio::test]
async fn the_address_says_name_and_password() {
    let mut nats = own::nats().expect("NATS");
    ask_for("user: watchbell, password: \"p@ss/word\"", &nats.log());
    nats.restart().expect("NATS starts again");
    let url = nats.url();
    assert!(!is_let_in(&url, "").await);
    assert!(!is_let_in(&url, "watchbell:wrong@").await);
    assert!(is_let_in(&url, "watchbell:p%40ss%2Fword@").await);
}

#[tokio::test]
async fn the_address_says_a_token() {
    let mut nats = own::nats().expect("NATS");
    ask_for("token: \"t0ken\"", &nats.log());
    nats.restart().expect("NATS starts again");
    let url = nats.url();
    assert!(!is_let_in(&url, "").await);
    assert!(is_let_in(&url, "t0ken@").await);
}
