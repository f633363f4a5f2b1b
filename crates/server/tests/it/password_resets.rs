//! A new password: for who can read the mail, once, and within half an hour.

use reqwest::{Response, StatusCode};
use serde_json::json;
use testkit::eventually;

use crate::deployment::DEADLINE;
use crate::errors::problem;
use crate::people::{PASSWORD, Person, Town, looks};

const NEW: &str = "a new and better password";

/// Asks for a link and reads it from mail number `number`.
async fn link(town: &Town, person: &Person, number: usize) -> String {
    let wanted = json!({"email": person.email});
    let answer = person.post("/v1/auth/password-reset", &wanted).await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    let mail = town.mail.wait_for(&person.email, number, DEADLINE).await;
    assert_eq!(mail.subject, "Choose a new password");
    mail.token()
}

async fn confirm(person: &Person, token: &str) -> Response {
    let chosen = json!({"token": token, "password": NEW});
    person
        .post("/v1/auth/password-reset/confirm", &chosen)
        .await
}

#[tokio::test]
async fn a_reset_sets_the_password_once_and_logs_out_everywhere() {
    let town = Town::start();
    let ann = town.owner().await;
    let mut elsewhere = ann.clone();
    elsewhere.log_in(PASSWORD).await;
    let bob = town.invited(&ann, "viewer").await;
    let token = link(&town, &ann, 2).await;
    assert!(ann.is_logged_in().await, "asking changes nothing");
    assert_eq!(ann.try_log_in(PASSWORD).await.status(), StatusCode::OK);

    let mut stranger = Person {
        cookie: None,
        ..ann.clone()
    };
    let confirmed = confirm(&stranger, &token).await;
    assert_eq!(confirmed.status(), StatusCode::NO_CONTENT);
    let cookies = confirmed.headers().get_all("set-cookie").iter();
    let sessions = cookies.filter(|cookie| cookie.as_bytes().starts_with(b"watchbell_session"));
    assert_eq!(sessions.count(), 0, "it logs nobody in");

    assert!(!ann.is_logged_in().await);
    assert!(!elsewhere.is_logged_in().await);
    assert!(bob.is_logged_in().await, "others are left alone");
    problem(stranger.try_log_in(PASSWORD).await, 401).await;
    stranger.log_in(NEW).await;

    assert_eq!(
        problem(confirm(&stranger, &token).await, 400).await["code"],
        "TOKEN_INVALID"
    );
    assert!(stranger.is_logged_in().await);
    assert_eq!(stranger.try_log_in(NEW).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_new_request_voids_the_link_before() {
    let town = Town::start();
    let ann = town.owner().await;
    let first = link(&town, &ann, 2).await;
    let second = link(&town, &ann, 3).await;
    problem(confirm(&ann, &first).await, 400).await;
    assert_eq!(ann.try_log_in(PASSWORD).await.status(), StatusCode::OK);
    assert_eq!(
        confirm(&ann, &second).await.status(),
        StatusCode::NO_CONTENT
    );
}

#[tokio::test]
async fn a_link_works_for_thirty_minutes() {
    let town = Town::start();
    let ann = town.owner().await;
    let token = link(&town, &ann, 2).await;
    let left = "SELECT extract(epoch FROM expires_at - now()) FROM password_resets";
    let left: f64 = town.deployment.sql(left).parse().expect("seconds");
    assert!((1_770.0..=1_800.0).contains(&left), "{left} s");

    let pass = |seconds: u32| {
        let sql = format!(
            "UPDATE password_resets SET expires_at = expires_at - interval '{seconds} seconds'"
        );
        town.deployment.sql(&sql);
    };
    pass(1_800);
    let expired = looks(confirm(&ann, &token).await).await;
    assert_eq!(expired.0, StatusCode::BAD_REQUEST);
    assert_eq!(ann.try_log_in(PASSWORD).await.status(), StatusCode::OK);

    let token = link(&town, &ann, 3).await;
    pass(1_750);
    assert_eq!(confirm(&ann, &token).await.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn every_link_that_does_not_work_gets_one_and_the_same_answer() {
    let town = Town::start();
    let ann = town.owner().await;
    let used = link(&town, &ann, 2).await;
    assert_eq!(confirm(&ann, &used).await.status(), StatusCode::NO_CONTENT);
    let pending = town.stranger();
    pending.register().await;
    let verify = town
        .mail
        .wait_for(&pending.email, 1, DEADLINE)
        .await
        .token();

    let mut others = vec![
        verify.clone(),
        used.clone(),
        String::new(),
        "wbt_".to_owned(),
    ];
    others.push(format!("wbt_{}", "0".repeat(64)));
    others.push(format!("wbs_{}", &used[4..]));
    others.push(used.to_uppercase());
    others.push(format!("{used}0"));
    others.push("\0".repeat(68));
    let answer = looks(confirm(&ann, &used).await).await;
    assert_eq!(answer.0, StatusCode::BAD_REQUEST);
    assert!(answer.2.contains("TOKEN_INVALID"));
    for token in &others {
        assert_eq!(looks(confirm(&ann, token).await).await, answer, "{token:?}");
        let accepted = json!({"token": token, "password": NEW});
        let accepted = ann.post("/v1/auth/accept-invitation", &accepted).await;
        assert_eq!(looks(accepted).await, answer, "{token:?}");
    }
    let reset = link(&town, &ann, 3).await;
    let wrong_purpose = ann.try_verify(&reset, PASSWORD).await;
    assert_eq!(looks(wrong_purpose).await, answer);

    // What was tried for the wrong purpose still works for the right one.
    pending.verify(&verify).await;
    assert_eq!(confirm(&ann, &reset).await.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_password_that_is_refused_does_not_use_the_link_up() {
    let town = Town::start();
    let ann = town.owner().await;
    let token = link(&town, &ann, 2).await;
    for password in ["short", &ann.email] {
        let chosen = json!({"token": token, "password": password});
        let refused = ann.post("/v1/auth/password-reset/confirm", &chosen).await;
        assert_eq!(
            problem(refused, 422).await["errors"][0]["pointer"],
            "/password"
        );
    }
    assert_eq!(confirm(&ann, &token).await.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn of_many_who_use_a_link_at_the_same_moment_one_succeeds() {
    let town = Town::start();
    let ann = town.owner().await;
    let token = link(&town, &ann, 2).await;
    let answers = futures::future::join_all((0..10).map(|_| confirm(&ann, &token))).await;
    let mut statuses: Vec<_> = answers
        .iter()
        .map(|answer| answer.status().as_u16())
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses[0], 204);
    assert_eq!(statuses[1..], [400; 9]);
}

#[tokio::test]
async fn no_session_outlives_the_password_that_opened_it() {
    let town = Town::start();
    let ann = town.owner().await;
    for round in 0..5 {
        let old = if round == 0 {
            PASSWORD.to_owned()
        } else {
            format!("password number {round}")
        };
        let new = format!("password number {}", round + 1);
        let token = link(&town, &ann, 2 + round).await;
        let chosen = json!({"token": token, "password": new});
        let logins = futures::future::join_all((0..8).map(|_| {
            let mut person = ann.clone();
            let old = &old;
            async move {
                let answer = person.try_log_in(old).await;
                let cookie = answer.headers().get("set-cookie")?;
                let pair = cookie.to_str().ok()?.split(';').next()?;
                person.cookie = Some(pair.to_owned());
                Some(person)
            }
        }));
        let (confirmed, logins) =
            tokio::join!(ann.post("/v1/auth/password-reset/confirm", &chosen), logins);
        assert_eq!(confirmed.status(), StatusCode::NO_CONTENT);
        for person in logins.into_iter().flatten() {
            assert!(!person.is_logged_in().await, "round {round}");
        }
    }
    eventually(DEADLINE, "the last password works", async || {
        ann.try_log_in("password number 5").await.status() == StatusCode::OK
    })
    .await;
}
