//! What a stopwatch tells a stranger: nothing about who has an account.
//!
//! Known and unknown addresses are asked about in turn, so that whatever else the machine does
//! happens to both, and the medians of one run are compared. Without the hash that an unknown address
//! is checked against, its answers come some ten times as fast, far outside what is allowed here.

use std::time::{Duration, Instant};

use reqwest::{Response, StatusCode};
use serde_json::json;

use crate::people::Town;

const SAMPLES: usize = 60;
/// How far apart the medians may be, as a ratio.
const RATIO_MAX: f64 = 1.3;

/// The medians of two questions asked in turn.
async fn medians(
    known: impl AsyncFn(usize) -> Response,
    unknown: impl AsyncFn(usize) -> Response,
    status: StatusCode,
) -> (Duration, Duration) {
    let (mut of_known, mut of_unknown) = (Vec::new(), Vec::new());
    for number in 0..SAMPLES {
        for turn in 0..2 {
            // Each goes first as often as the other.
            let is_known = (turn + number) % 2 == 0;
            let started = Instant::now();
            let answer = if is_known {
                known(number).await
            } else {
                unknown(number).await
            };
            let took = started.elapsed();
            assert_eq!(answer.status(), status);
            if is_known {
                of_known.push(took)
            } else {
                of_unknown.push(took)
            }
        }
    }
    (median(of_known), median(of_unknown))
}

fn median(mut durations: Vec<Duration>) -> Duration {
    durations.sort();
    durations[durations.len() / 2]
}

fn assert_alike(what: &str, (known, unknown): (Duration, Duration)) {
    let ratio = known.as_secs_f64() / unknown.as_secs_f64();
    println!("{what}: known {known:?}, unknown {unknown:?}, ratio {ratio:.3}");
    assert!(
        (1.0 / RATIO_MAX..=RATIO_MAX).contains(&ratio),
        "{what}: known {known:?}, unknown {unknown:?}, ratio {ratio:.3}"
    );
}

#[tokio::test]
async fn the_time_an_answer_takes_does_not_tell_whether_an_address_has_an_account() {
    let town = Town::start();
    let ann = town.owner().await;
    let strangers: Vec<_> = (0..SAMPLES).map(|_| town.stranger()).collect();

    let login = medians(
        async |_| ann.try_log_in("a wrong password").await,
        async |number| strangers[number].try_log_in("a wrong password").await,
        StatusCode::UNAUTHORIZED,
    );
    assert_alike("login", login.await);

    let register = medians(
        async |_| ann.register().await,
        async |number| strangers[number].register().await,
        StatusCode::ACCEPTED,
    );
    assert_alike("register", register.await);

    let reset = async |email: &str| {
        let body = json!({"email": email});
        ann.post("/v1/auth/password-reset", &body).await
    };
    let resets = medians(
        async |_| reset(&ann.email).await,
        async |number| reset(&strangers[number].email).await,
        StatusCode::ACCEPTED,
    );
    assert_alike("password reset", resets.await);
}
