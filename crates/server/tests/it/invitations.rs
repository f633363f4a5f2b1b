//! Invitations: how people join, and that inviting tells nobody who has an account.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::deployment::{DEADLINE, Deployment};
use crate::errors::problem;
use crate::people::{PASSWORD, Person, Town};

async fn accept(person: &Person, token: &str) -> reqwest::Response {
    let chosen = json!({"token": token, "password": PASSWORD});
    person.post("/v1/auth/accept-invitation", &chosen).await
}

#[tokio::test]
async fn somebody_is_invited_accepts_once_and_belongs_to_the_organization() {
    let town = Town::start();
    let ann = town.owner().await;
    ann.patch("/v1/org", &json!({"name": "Ærø"})).await;
    let mut bob = town.stranger();
    let invitation = ann.invite(&bob.email.to_uppercase(), "viewer").await;
    assert_eq!(invitation["email"], bob.email);
    assert_eq!(invitation["invited_by"], ann.ids().await.0);
    assert!(
        invitation.get("link").is_none(),
        "it is in the mail and nowhere else"
    );
    assert_eq!(
        ann.get_json("/v1/invitations").await["data"],
        json!([invitation])
    );

    let mail = town.mail.wait_for(&bob.email, 1, DEADLINE).await;
    assert!(
        mail.body.contains("\"Ærø\" on Watchbell as viewer"),
        "{}",
        mail.body
    );
    assert!(mail.body.contains("/accept-invitation#token="));
    let short = json!({"token": mail.token(), "password": "short"});
    problem(bob.post("/v1/auth/accept-invitation", &short).await, 422).await;
    assert_eq!(
        accept(&bob, &mail.token()).await.status(),
        StatusCode::NO_CONTENT
    );
    let who = bob.log_in(PASSWORD).await;
    assert_eq!(who["user"]["role"], "viewer");
    assert_eq!(who["organisation"], ann.get_json("/v1/org").await);
    assert_eq!(ann.get_json("/v1/invitations").await["data"], json!([]));
    assert_eq!(
        problem(accept(&bob, &mail.token()).await, 400).await["code"],
        "TOKEN_INVALID"
    );
}

#[tokio::test]
async fn inviting_somebody_with_an_account_answers_as_ever_and_only_they_are_told() {
    let town = Town::start();
    let (ann, eve) = (town.owner().await, town.owner().await);
    let stranger = town.stranger();
    let without_id = |mut invitation: Value, email: &str| {
        assert_eq!(invitation["email"], email);
        for field in ["id", "email", "created_at", "expires_at"] {
            assert!(invitation[field].is_string(), "{field}");
            invitation[field] = json!("");
        }
        invitation
    };
    let known = without_id(eve.invite(&ann.email, "viewer").await, &ann.email);
    let unknown = without_id(eve.invite(&stranger.email, "viewer").await, &stranger.email);
    assert_eq!(known, unknown);
    let listed = eve.get_json("/v1/invitations").await;
    assert_eq!(listed["data"].as_array().expect("data").len(), 2);

    let mail = town.mail.wait_for(&ann.email, 2, DEADLINE).await;
    assert!(
        mail.body.contains("already has an account"),
        "{}",
        mail.body
    );
    assert!(!mail.body.contains("wbt_"));
    assert_eq!(ann.get_json("/v1/me").await["organisation"]["name"], "Acme");
}

#[tokio::test]
async fn an_invitation_is_replaced_revoked_and_runs_out_after_a_week() {
    let town = Town::start();
    let ann = town.owner().await;
    let bob = town.stranger();
    ann.invite(&bob.email, "viewer").await;
    let first = town.mail.wait_for(&bob.email, 1, DEADLINE).await.token();
    let second = ann.invite(&bob.email, "admin").await;
    assert_eq!(
        ann.get_json("/v1/invitations").await["data"],
        json!([second])
    );
    let replaced = town.mail.wait_for(&bob.email, 2, DEADLINE).await.token();
    problem(accept(&bob, &first).await, 400).await;

    let path = format!("/v1/invitations/{}", second["id"].as_str().expect("an id"));
    assert_eq!(ann.delete(&path).await.status(), StatusCode::NO_CONTENT);
    problem(ann.delete(&path).await, 404).await;
    problem(accept(&bob, &replaced).await, 400).await;

    ann.invite(&bob.email, "viewer").await;
    let third = town.mail.wait_for(&bob.email, 3, DEADLINE).await.token();
    let lasts = "SELECT extract(epoch FROM expires_at - created_at) / 86400 FROM invitations";
    assert!(town.deployment.sql(lasts).starts_with("7.00"));
    town.deployment
        .sql("UPDATE invitations SET expires_at = now() - interval '1 second'");
    assert_eq!(ann.get_json("/v1/invitations").await["data"], json!([]));
    problem(accept(&bob, &third).await, 400).await;
    town.deployment
        .sql("UPDATE invitations SET expires_at = now() + interval '1 minute'");
    assert_eq!(accept(&bob, &third).await.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn an_invitation_does_not_make_a_second_account_for_an_address() {
    let town = Town::start();
    let ann = town.owner().await;
    let mut bob = town.stranger();
    ann.invite(&bob.email, "viewer").await;
    let invited = town.mail.wait_for(&bob.email, 1, DEADLINE).await.token();
    bob.register().await;
    let verify = town.mail.wait_for(&bob.email, 2, DEADLINE).await.token();
    bob.verify(&verify).await;
    assert_eq!(
        problem(accept(&bob, &invited).await, 400).await["code"],
        "TOKEN_INVALID"
    );
    let (_, org) = ann.ids().await;
    assert_ne!(bob.log_in(PASSWORD).await["organisation"]["id"], org);
}

#[tokio::test]
async fn no_more_than_a_hundred_invitations_wait_at_a_time() {
    let town = Town::start();
    let ann = town.owner().await;
    for number in 0..100 {
        ann.invite(&format!("guest-{number}@example.com"), "viewer")
            .await;
    }
    let one_more = json!({"email": "guest-100@example.com", "role": "viewer"});
    let refused = problem(ann.post("/v1/invitations", &one_more).await, 409).await;
    assert_eq!(refused["code"], "LIMIT_REACHED");
    ann.invite("guest-7@example.com", "admin").await;
    let page = ann.get_json("/v1/invitations?limit=1").await;
    let id = page["data"][0]["id"].as_str().expect("an id");
    assert_eq!(page["data"][0]["email"], "guest-7@example.com");
    assert!(page["next_cursor"].is_string());
    ann.delete(&format!("/v1/invitations/{id}")).await;
    ann.invite("guest-100@example.com", "viewer").await;
}

#[tokio::test]
async fn an_organization_invites_only_so_often_whatever_it_takes_back() {
    let town = Town::with(Deployment::new().with("LIMITS__INVITATIONS", "4/1h"));
    let (ann, eve) = (town.owner().await, town.owner().await);
    let bob = town.invited(&ann, "viewer").await;
    let guest = town.stranger();
    let invite = async |by: &Person, email: &str| {
        let body = json!({"email": email, "role": "viewer"});
        by.post("/v1/invitations", &body).await
    };
    // What is refused for another reason does not count.
    for _ in 0..5 {
        problem(invite(&bob, &guest.email).await, 403).await;
        problem(invite(&ann, "nobody").await, 422).await;
    }
    ann.invite(&guest.email, "viewer").await;
    let again = ann.invite(&guest.email, "admin").await;
    let path = format!("/v1/invitations/{}", again["id"].as_str().expect("an id"));
    assert_eq!(ann.delete(&path).await.status(), StatusCode::NO_CONTENT);
    ann.invite(&guest.email, "viewer").await;

    let refused = invite(&ann, &guest.email).await;
    let wait = refused.headers()["retry-after"].to_str().expect("plain");
    assert!(
        (3_500..=3_600).contains(&wait.parse().expect("seconds")),
        "{wait}"
    );
    assert_eq!(problem(refused, 429).await["code"], "RATE_LIMITED");
    problem(invite(&ann, &town.stranger().email).await, 429).await;
    let listed = ann.get_json("/v1/invitations").await;
    assert_eq!(listed["data"].as_array().expect("data").len(), 1);
    assert_eq!(listed["data"][0]["role"], "viewer");

    eve.invite(&guest.email, "viewer").await;
    town.mail.wait_for(&guest.email, 4, DEADLINE).await;
    assert_eq!(town.mail.mails_to(&guest.email).len(), 4);
}
