//! Another password for who is logged in and knows the one they have.

use reqwest::{Method, Response, StatusCode};
use serde_json::json;
use testkit::eventually;

use crate::deployment::{DEADLINE, Deployment};
use crate::errors::problem;
use crate::people::{PASSWORD, Person, Town};

const NEW: &str = "a new and better password";

async fn change(person: &Person, from: &str, to: &str) -> Response {
    let body = json!({"current_password": from, "password": to});
    person.post("/v1/me/password", &body).await
}

#[tokio::test]
async fn somebody_changes_their_password_and_is_logged_out_everywhere_else() {
    let town = Town::start();
    let _index = town.deployment.serve("index");
    let mut ann = town.owner().await;
    let copied = ann.clone();
    let mut elsewhere = ann.clone();
    elsewhere.log_in(PASSWORD).await;
    let bob = town.invited(&ann, "viewer").await;
    let wanted = json!({"email": ann.email});
    ann.post("/v1/auth/password-reset", &wanted).await;
    let link = town.mail.wait_for(&ann.email, 2, DEADLINE).await;

    let changed = change(&ann, PASSWORD, NEW).await;
    assert_eq!(changed.status(), StatusCode::NO_CONTENT);
    ann.keep_cookies(&changed);
    assert!(ann.is_logged_in().await, "here it goes on");
    assert!(!copied.is_logged_in().await, "who copied the cookie");
    assert!(!elsewhere.is_logged_in().await);
    let sessions = ann.get_json("/v1/auth/sessions").await;
    assert_eq!(sessions["data"].as_array().expect("data").len(), 1);
    assert!(bob.is_logged_in().await, "others are left alone");
    problem(ann.try_log_in(PASSWORD).await, 401).await;
    assert_eq!(ann.try_log_in(NEW).await.status(), StatusCode::OK);
    let chosen = json!({"token": link.token(), "password": "one more password"});
    let late = ann.post("/v1/auth/password-reset/confirm", &chosen).await;
    assert_eq!(problem(late, 400).await["code"], "TOKEN_INVALID");

    let (ann_id, _) = ann.ids().await;
    eventually(DEADLINE, "the trail tells it", async || {
        let path = "/v1/audit/events?event_type=login&action=password.change";
        let page = ann.get_json(path).await;
        let told = page["data"].as_array().expect("data").clone();
        told.len() == 1 && told[0]["agent_id"] == ann_id.as_str()
    })
    .await;
}

#[tokio::test]
async fn who_found_a_session_open_cannot_change_its_owners_password() {
    let town = Town::with(Deployment::new().with("LIMITS__PASSWORD_CHANGES", "3/1h"));
    let _index = town.deployment.serve("index");
    let ann = town.owner().await;
    let refused = problem(change(&ann, "a wrong password", NEW).await, 422).await;
    assert_eq!(refused["errors"][0]["pointer"], "/current_password");
    let refused = problem(change(&ann, &"x".repeat(10_000), NEW).await, 422).await;
    assert_eq!(refused["errors"][0]["pointer"], "/current_password");
    let refused = problem(change(&ann, PASSWORD, "Password2026").await, 422).await;
    assert_eq!(refused["errors"][0]["pointer"], "/password");
    let limited = problem(change(&ann, PASSWORD, NEW).await, 429).await;
    assert_eq!(limited["code"], "RATE_LIMITED");
    assert_eq!(ann.try_log_in(PASSWORD).await.status(), StatusCode::OK);

    eventually(DEADLINE, "the trail tells of the wrong ones", async || {
        let path = "/v1/audit/events?event_type=login&result=denied";
        let page = ann.get_json(path).await;
        page["data"].as_array().expect("data").len() == 2
    })
    .await;
}

#[tokio::test]
async fn of_two_changes_at_the_same_moment_one_is_made() {
    let town = Town::start();
    let ann = town.owner().await;
    let (one, other) = tokio::join!(
        change(&ann, PASSWORD, NEW),
        change(&ann, PASSWORD, "another good password")
    );
    let mut statuses = [one.status().as_u16(), other.status().as_u16()];
    statuses.sort_unstable();
    // The second may find the new password already, which is not the one it gives, or that its cookie is another now.
    assert_eq!(statuses[0], 204);
    assert!([401, 409, 422].contains(&statuses[1]), "{statuses:?}");
}

#[tokio::test]
async fn who_changed_their_password_comes_in_with_it_whatever_strangers_used_up() {
    let town = Town::with(Deployment::new().with("LIMITS__LOGIN_ELSEWHERE", "1/1h"));
    let mut ann = town.owner().await;
    let changed = change(&ann, PASSWORD, NEW).await;
    ann.keep_cookies(&changed);
    let eve = Person {
        cookie: None,
        mark: None,
        ..ann.clone()
    };
    problem(eve.try_log_in(NEW).await, 429).await;
    assert_eq!(ann.try_log_in(NEW).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_form_that_is_too_long_or_says_something_twice_changes_nothing() {
    let town = Town::start();
    let ann = town.owner().await;
    problem(change(&ann, &"x".repeat(20_000), NEW).await, 413).await;
    let twice = format!(
        r#"{{"current_password": "{PASSWORD}", "password": "{NEW}", "password": "another good password"}}"#
    );
    let request = ann.request(Method::POST, "/v1/me/password");
    let request = request.header("content-type", "application/json");
    let answer = request.body(twice).send().await.expect("an answer");
    assert_eq!(
        problem(answer, 422).await["errors"][0]["pointer"],
        "/password"
    );
    assert_eq!(ann.try_log_in(PASSWORD).await.status(), StatusCode::OK);
}
