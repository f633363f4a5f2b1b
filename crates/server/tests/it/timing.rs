//! What a stopwatch tells a stranger: nothing about who has an account.
//!
//! Known and unknown addresses are asked about in turn, so that whatever else the machine does
//! happens to both, and the medians of one run are compared. Without the hash that an unknown address
//! is checked against, its answers come some fifteen times as fast; a link that is saved or a mail that
//! is sent before the answer at least doubles its time. Both are far outside what is allowed here.

use std::time::{Duration, Instant};

use reqwest::{Response, StatusCode};
use serde_json::json;

use crate::deployment::DEADLINE;
use crate::people::{Person, Town};

const SAMPLES: usize = 60;
/// How far apart the medians may be, as a ratio: room for a busy machine.
const RATIO_MAX: f64 = 1.5;

/// The medians of two questions asked in turn, each by somebody who holds the stopwatch themself.
async fn medians(
    known: impl AsyncFn(usize) -> Duration,
    unknown: impl AsyncFn(usize) -> Duration,
) -> (Duration, Duration) {
    let (mut of_known, mut of_unknown) = (Vec::new(), Vec::new());
    for number in 0..SAMPLES {
        // Each goes first as often as the other.
        if number % 2 == 0 {
            of_known.push(known(number).await);
            of_unknown.push(unknown(number).await);
        } else {
            of_unknown.push(unknown(number).await);
            of_known.push(known(number).await);
        }
    }
    (median(of_known), median(of_unknown))
}

async fn timed(question: impl Future<Output = Response>, status: StatusCode) -> Duration {
    let started = Instant::now();
    let answer = question.await;
    let took = started.elapsed();
    assert_eq!(answer.status(), status);
    took
}

pub fn median(mut durations: Vec<Duration>) -> Duration {
    durations.sort();
    durations[durations.len() / 2]
}

#[expect(clippy::print_stdout, reason = "the figures are worth reading")]
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
    // Over the same connection, whose making would otherwise be measured too.
    let stranger = |_| Person {
        http: ann.http.clone(),
        ..town.stranger()
    };
    let strangers: Vec<_> = (0..SAMPLES).map(stranger).collect();

    let login = async |person: &Person| {
        timed(
            person.try_log_in("a wrong password"),
            StatusCode::UNAUTHORIZED,
        )
        .await
    };
    let logins = medians(
        async |_| login(&ann).await,
        async |number| login(&strangers[number]).await,
    );
    assert_alike("login", logins.await);

    let register = async |person: &Person| timed(person.register(), StatusCode::ACCEPTED).await;
    let registers = medians(
        async |_| register(&ann).await,
        async |number| register(&strangers[number]).await,
    );
    assert_alike("register", registers.await);

    // Of one address five registrations are kept and mailed.
    let mails = town.mail.count_after(1 + 5 + SAMPLES, DEADLINE).await;
    let reset = async |email: &str| {
        let body = json!({"email": email});
        let question = ann.post("/v1/auth/password-reset", &body);
        timed(question, StatusCode::ACCEPTED).await
    };
    let resets = medians(
        async |number| {
            let took = reset(&ann.email).await;
            // The mail goes out after the answer; let it, so that it does not slow the next question.
            town.mail.count_after(mails + number + 1, DEADLINE).await;
            took
        },
        async |number| reset(&strangers[number].email).await,
    );
    assert_alike("password reset", resets.await);
}
