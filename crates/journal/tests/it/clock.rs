//! What time it is for the server.

use std::time::SystemTime;

use super::{DEADLINE, journal};

#[tokio::test]
async fn the_server_says_its_time_which_is_ours_on_the_same_machine() {
    let journal = journal().await;
    let before = millis();
    let reading = journal.read_clock().await.expect("an answer");
    let said = before..=millis();
    assert!(said.contains(&reading.time.unix_millis()), "{said:?}");
    assert!(reading.asked <= reading.answered);
    assert!(reading.answered - reading.asked < DEADLINE);
}

fn millis() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "the machine's own clock")]
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(since.expect("after 1970").as_millis()).expect("in range")
}
