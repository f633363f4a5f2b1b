//! Guessing passwords from many addresses: it ends, and keeps nobody out of their account.

use reqwest::{Method, Response, StatusCode};
use serde_json::json;

use crate::deployment::{DEADLINE, Deployment};
use crate::errors::problem;
use crate::people::{PASSWORD, Person, Town, looks, mark};

const NEW: &str = "a new and better password";

/// Where an address is told by a proxy, and an account has this many logins from browsers that are not known.
fn town(logins: &str) -> Town {
    let deployment = Deployment::new()
        .with("HTTP__TRUSTED_PROXIES", "127.0.0.1/32")
        .with("HTTP__CLIENT_IP_HEADER", "x-forwarded-for")
        .with("LIMITS__LOGIN_ELSEWHERE", logins);
    Town::with(deployment)
}

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
        if answer.status() == StatusCode::TOO_MANY_REQUESTS {
            assert!(answer.headers().contains_key("retry-after"));
            return number;
        }
        problem(answer, 401).await;
    }
    panic!("{most} guesses, and no end of them");
}

/// Somebody else who knows the address.
fn stranger_to(person: &Person) -> Person {
    Person {
        cookie: None,
        mark: None,
        ..person.clone()
    }
}

#[tokio::test]
async fn guesses_from_many_addresses_end_and_keep_nobody_out_whose_browser_is_known() {
    let town = town("4/1h");
    let ann = town.owner().await;
    let eve = stranger_to(&ann);
    assert_eq!(guesses(&eve).await, 3, "her own first login was one");
    let nobody = town.stranger();
    assert_eq!(guesses(&nobody).await, 4);

    // The right password is refused as well, or this would be no end; and so is that of nobody.
    let refused = looks(log_in_from(&eve, "198.51.100.1", PASSWORD).await).await;
    let unknown = looks(log_in_from(&nobody, "198.51.100.1", PASSWORD).await).await;
    for (status, _, body) in [&refused, &unknown] {
        assert_eq!(*status, StatusCode::TOO_MANY_REQUESTS);
        assert!(body.contains("RATE_LIMITED"), "{body}");
    }
    let names = |headers: &[(String, String)]| -> Vec<String> {
        headers.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&refused.1), names(&unknown.1));

    // She comes in wherever she is, and without a session.
    ann.post("/v1/auth/logout", &json!({})).await;
    assert!(!ann.is_logged_in().await);
    let again = log_in_from(&ann, "198.51.100.1", PASSWORD).await;
    assert_eq!(again.status(), StatusCode::OK);
    assert_eq!(mark(&again), ann.mark, "the same browser");

    // Her browser is none of nobody's; and who has it guesses no longer than others.
    let borrowed = Person {
        mark: ann.mark.clone(),
        ..nobody
    };
    problem(log_in_from(&borrowed, "198.51.100.1", PASSWORD).await, 429).await;
    assert_eq!(guesses(&ann).await, 3, "her own login was one");
}

#[tokio::test]
async fn who_has_the_mailbox_comes_in_whatever_strangers_used_up() {
    let town = town("2/1h");
    let ann = town.owner().await;
    let mut elsewhere = stranger_to(&ann);
    assert_eq!(guesses(&elsewhere).await, 1);
    let wanted = json!({"email": ann.email});
    elsewhere.post("/v1/auth/password-reset", &wanted).await;
    let mail = town.mail.wait_for(&ann.email, 2, DEADLINE).await;
    let chosen = json!({"token": mail.token(), "password": NEW});
    let confirmed = elsewhere
        .post("/v1/auth/password-reset/confirm", &chosen)
        .await;
    assert_eq!(confirmed.status(), StatusCode::NO_CONTENT);

    // Nothing tells strangers that the password is another, and the mark of the one before is worth nothing.
    for person in [&stranger_to(&ann), &ann] {
        problem(log_in_from(person, "198.51.100.1", NEW).await, 429).await;
    }
    elsewhere.mark = mark(&confirmed);
    elsewhere.log_in(NEW).await;
    assert!(elsewhere.is_logged_in().await);
}

#[tokio::test]
async fn who_is_expected_is_not_kept_out_by_guesses_from_before() {
    let town = town("2/1h");
    let ann = town.owner().await;
    let mut bob = town.stranger();
    assert_eq!(guesses(&bob).await, 2);
    ann.invite(&bob.email, "viewer").await;
    let mail = town.mail.wait_for(&bob.email, 1, DEADLINE).await;
    let chosen = json!({"token": mail.token(), "password": PASSWORD});
    let accepted = bob.post("/v1/auth/accept-invitation", &chosen).await;
    bob.mark = mark(&accepted);
    bob.log_in(PASSWORD).await;

    let mut carol = town.stranger();
    assert_eq!(guesses(&carol).await, 2);
    carol.register().await;
    let mail = town.mail.wait_for(&carol.email, 1, DEADLINE).await;
    let verified = carol.try_verify(&mail.token(), PASSWORD).await;
    carol.mark = mark(&verified);
    carol.log_in(PASSWORD).await;
}
