//! Guessing passwords from many addresses: it ends, and keeps nobody out of their account.

use reqwest::{Method, Response};
use serde_json::json;

use crate::deployment::{DEADLINE, Deployment};
use crate::errors::problem;
use crate::people::{PASSWORD, Person, Town, looks};

const NEW: &str = "a new and better password";

/// Tries to log in from an address that a proxy tells.
async fn log_in_from(person: &Person, address: &str, password: &str) -> Response {
    let body = json!({"email": person.email, "password": password});
    let request = person.request(Method::POST, "/v1/auth/login");
    let request = request.header("x-forwarded-for", address).json(&body);
    request.send().await.expect("an answer")
}

/// How many guesses from an address each are refused for the password, before one is for their number.
async fn guesses(person: &Person) -> usize {
    let most = 10;
    for number in 0..most {
        let address = format!("203.0.113.{number}");
        let answer = log_in_from(person, &address, "a wrong password").await;
        if answer.status() == 429 {
            assert!(answer.headers().contains_key("retry-after"));
            return number;
        }
        problem(answer, 401).await;
    }
    panic!("{most} guesses, and no end of them");
}

#[tokio::test]
async fn guesses_from_many_addresses_end_and_keep_nobody_out_where_they_are_logged_in() {
    let deployment = Deployment::new()
        .with("HTTP__TRUSTED_PROXIES", "127.0.0.1/32")
        .with("HTTP__CLIENT_IP_HEADER", "x-forwarded-for")
        .with("LIMITS__LOGIN_ELSEWHERE", "4/1h");
    let town = Town::with(deployment);
    let ann = town.owner().await;
    assert_eq!(guesses(&ann).await, 3, "her own first login was one");
    let nobody = town.stranger();
    assert_eq!(guesses(&nobody).await, 4);

    // The right password is refused as well, or this would be no end; and nobody can tell whether there is an account.
    let refused = log_in_from(&ann, "198.51.100.1", PASSWORD).await;
    let unknown = log_in_from(&nobody, "198.51.100.1", PASSWORD).await;
    let [refused, unknown] = [looks(refused).await, looks(unknown).await];
    assert_eq!(refused.0, 429);
    assert_eq!(refused.0, unknown.0);
    assert!(refused.2.contains("RATE_LIMITED"), "{}", refused.2);

    assert!(ann.is_logged_in().await);
    assert_eq!(ann.try_log_in(PASSWORD).await.status(), 200);
    problem(ann.try_log_in("a wrong password").await, 401).await;

    // Who has the mailbox needs no place that is known.
    let wanted = json!({"email": ann.email});
    ann.post("/v1/auth/password-reset", &wanted).await;
    let mail = town.mail.wait_for(&ann.email, 2, DEADLINE).await;
    let chosen = json!({"token": mail.token(), "password": NEW});
    let confirmed = ann.post("/v1/auth/password-reset/confirm", &chosen).await;
    assert_eq!(confirmed.status(), 204);
    assert_eq!(log_in_from(&ann, "198.51.100.1", NEW).await.status(), 200);
    // She is logged in there now.
    for _ in 0..5 {
        assert_eq!(log_in_from(&ann, "198.51.100.1", NEW).await.status(), 200);
    }
}
