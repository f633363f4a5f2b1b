//! Another password for who is logged in and knows the one they have.

use reqwest::{Response, StatusCode};
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
    let ann = town.owner().await;
    let mut elsewhere = ann.clone();
    elsewhere.log_in(PASSWORD).await;
    let bob = town.invited(&ann, "viewer").await;
    let wanted = json!({"email": ann.email});
    ann.post("/v1/auth/password-reset", &wanted).await;
    let link = town.mail.wait_for(&ann.email, 2, DEADLINE).await;

    let changed = change(&ann, PASSWORD, NEW).await;
    assert_eq!(changed.status(), StatusCode::NO_CONTENT);
    assert!(ann.is_logged_in().await, "here it goes on");
    assert!(!elsewhere.is_logged_in().await);
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
    // The second may find the new password already, which is not the one it gives.
    assert_eq!(statuses[0], 204);
    assert!([409, 422].contains(&statuses[1]), "{statuses:?}");
}
