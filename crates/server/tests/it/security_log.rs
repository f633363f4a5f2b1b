//! The security log: what happens to accounts is in the organization's trail.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{Stopwatch, eventually, own};

use crate::deployment::{DEADLINE, Deployment, Running, ok};
use crate::people::{PASSWORD, Person, Town};

/// The events of our own making of a kind, newest first, once there are so many.
async fn told(person: &Person, event_type: &str, count: usize) -> Vec<Value> {
    let path = format!("/v1/audit/events?event_type={event_type}");
    let what = format!("{count} events of type {event_type}");
    eventually(DEADLINE, &what, async || {
        let page = person.get_json(&path).await;
        let events = page["data"].as_array().expect("data").clone();
        assert!(events.len() <= count, "{events:#?}");
        (events.len() == count).then_some(events)
    })
    .await
}

/// Action, result, and who did it.
fn gist(events: &[Value]) -> Vec<(&str, &str, &str)> {
    events
        .iter()
        .map(|event| {
            let field = |name: &str| event[name].as_str().expect("a text");
            (field("action"), field("result"), field("agent_id"))
        })
        .collect()
}

#[tokio::test]
async fn keys_that_are_made_rotated_and_revoked_are_told_without_their_secrets() {
    let running = Running::start(Deployment::new());
    let person = Person::founder(&running.customer.base_url).await;
    let (user, _) = person.ids().await;
    let wanted = json!({"name": "CI", "scopes": ["events:read"]});
    let made = ok(person.post("/v1/api-keys", &wanted).await).await;
    let id = made["id"].as_str().expect("an id");
    let rotate = format!("/v1/api-keys/{id}/rotate");
    let rotated = ok(person.post(&rotate, &json!({"overlap_s": 60})).await).await;
    let successor = rotated["id"].as_str().expect("an id");
    for _ in 0..2 {
        let revoked = person.delete(&format!("/v1/api-keys/{successor}")).await;
        assert_eq!(revoked.status(), StatusCode::NO_CONTENT);
    }
    let events = told(&person, "key_rotation", 3).await;
    assert_eq!(
        gist(&events),
        [
            ("api_key.revoke", "success", user.as_str()),
            ("api_key.rotate", "success", &user),
            ("api_key.create", "success", &user),
        ],
        "revoking again is not told again"
    );
    let metadata = |place: usize| &events[place]["metadata"];
    assert_eq!(metadata(2)["key_id"], id);
    assert_eq!(metadata(2)["name"], "CI");
    assert_eq!(metadata(2)["scopes"], json!(["events:read"]));
    assert_eq!(metadata(2)["by"], user.as_str());
    assert_eq!(metadata(1)["key_id"], id);
    assert_eq!(metadata(1)["successor"], successor);
    assert_eq!(metadata(0)["key_id"], successor);
    let all = serde_json::to_string(&events).expect("JSON");
    for secret in [&made["api_key"], &rotated["api_key"]] {
        assert!(!all.contains(secret.as_str().expect("a key")), "{all}");
    }
}

#[tokio::test]
async fn changes_of_members_invitations_and_the_name_are_told() {
    let town = Town::start();
    let _index = town.deployment.serve("index");
    let ann = town.owner().await;
    let (ann_id, _) = ann.ids().await;
    let bob = town.invited(&ann, "viewer").await;
    let (bob_id, _) = bob.ids().await;
    let member = format!("/v1/members/{bob_id}");
    for role in ["admin", "admin"] {
        ok(ann.patch(&member, &json!({"role": role})).await).await;
    }
    let wanted = json!({"name": "Bob's", "scopes": ["events:read"]});
    let key = ok(bob.post("/v1/api-keys", &wanted).await).await;
    ok(ann.patch("/v1/org", &json!({"name": "Acme & Sons"})).await).await;
    let invitation = ann.invite("carol@example.com", "viewer").await;
    let invitation = invitation["id"].as_str().expect("an id");
    let revoked = ann.delete(&format!("/v1/invitations/{invitation}")).await;
    assert_eq!(revoked.status(), StatusCode::NO_CONTENT);
    let removed = ann.delete(&member).await;
    assert_eq!(removed.status(), StatusCode::NO_CONTENT);

    let events = told(&ann, "permission_change", 7).await;
    let ann_id = ann_id.as_str();
    assert_eq!(
        gist(&events),
        [
            ("member.remove", "success", ann_id),
            ("invitation.revoke", "success", ann_id),
            ("invitation.create", "success", ann_id),
            ("organisation.rename", "success", ann_id),
            ("member.change", "success", ann_id),
            ("invitation.accept", "success", &bob_id),
            ("invitation.create", "success", ann_id),
        ],
        "a role that stays is not told"
    );
    let metadata = |place: usize| &events[place]["metadata"];
    assert_eq!(metadata(0)["user_id"], bob_id.as_str());
    assert_eq!(metadata(0)["role"], "admin");
    assert_eq!(metadata(0)["api_keys_revoked"], 1);
    assert_eq!(metadata(1)["invitation_id"], invitation);
    assert_eq!(metadata(1)["email"], "carol@example.com");
    assert_eq!(metadata(3)["before"], "Acme");
    assert_eq!(metadata(3)["after"], "Acme & Sons");
    assert_eq!(metadata(4)["user_id"], bob_id.as_str());
    assert_eq!(metadata(4)["before"], "viewer");
    assert_eq!(metadata(4)["after"], "admin");
    assert_eq!(metadata(5)["role"], "viewer");
    assert_eq!(metadata(6)["email"], bob.email.as_str());

    let keys = told(&ann, "key_rotation", 2).await;
    let revoked = ("api_key.revoke", "success", ann_id);
    let made = ("api_key.create", "success", bob_id.as_str());
    assert_eq!(gist(&keys), [revoked, made]);
    assert_eq!(keys[0]["metadata"]["key_id"], key["id"]);
}

#[tokio::test]
async fn logins_logouts_and_new_passwords_are_told_with_where_from() {
    let town = Town::start();
    let _index = town.deployment.serve("index");
    let mut ann = town.owner().await;
    let (ann_id, _) = ann.ids().await;
    // Another session, ended from this one, and one that logs out itself.
    let mut elsewhere = ann.clone();
    elsewhere.log_in(PASSWORD).await;
    let sessions = ann.get_json("/v1/auth/sessions").await;
    let other = sessions["data"]
        .as_array()
        .expect("data")
        .iter()
        .find(|session| session["current"] == false)
        .expect("another session");
    let path = format!("/v1/auth/sessions/{}", other["id"].as_str().expect("an id"));
    assert_eq!(ann.delete(&path).await.status(), StatusCode::NO_CONTENT);
    let out = ann.post("/v1/auth/logout", &json!({})).await;
    assert_eq!(out.status(), StatusCode::NO_CONTENT);
    let wanted = json!({"email": ann.email});
    ann.post("/v1/auth/password-reset", &wanted).await;
    let mail = town.mail.wait_for(&ann.email, 2, DEADLINE).await;
    let chosen = json!({"token": mail.token(), "password": "another good password"});
    let reset = ann.post("/v1/auth/password-reset/confirm", &chosen).await;
    assert_eq!(reset.status(), StatusCode::NO_CONTENT);
    ann.log_in("another good password").await;

    let events = told(&ann, "login", 6).await;
    let ann_id = ann_id.as_str();
    assert_eq!(
        gist(&events),
        [
            ("session.start", "success", ann_id),
            ("password.reset", "success", ann_id),
            ("session.end", "success", ann_id),
            ("session.end", "success", ann_id),
            ("session.start", "success", ann_id),
            ("session.start", "success", ann_id),
        ]
    );
    assert_eq!(events[4]["metadata"]["session_id"], other["id"]);
    assert_eq!(events[4]["metadata"]["client_address"], "127.0.0.1");
    assert_eq!(events[3]["metadata"]["session_id"], other["id"]);
    let all = serde_json::to_string(&events).expect("JSON");
    assert!(!all.contains(PASSWORD), "{all}");
    assert!(!all.contains("another good password"), "{all}");
}

#[tokio::test]
async fn refused_logins_of_an_account_are_told_up_to_a_bound() {
    let deployment = Deployment::new()
        .with("LIMITS__LOGIN", "100/15m")
        .with("LIMITS__REFUSED_LOGINS", "3/1h");
    let running = Running::start(deployment);
    let person = Person::founder(&running.customer.base_url).await;
    let (user, _) = person.ids().await;
    let stranger = Person::at(&running.customer.base_url);
    let refused = stranger.try_log_in("a wrong password").await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    for _ in 0..5 {
        let refused = person.try_log_in("a wrong password").await;
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    }
    // One by one and in order: what comes after them is told after them.
    let wanted = json!({"name": "CI", "scopes": ["events:read"]});
    ok(person.post("/v1/api-keys", &wanted).await).await;
    let events = told(&person, "login", 4).await;
    let denied: Vec<&Value> = events
        .iter()
        .filter(|event| event["result"] == "denied")
        .collect();
    assert_eq!(denied.len(), 3, "{events:#?}");
    for event in denied {
        assert_eq!(event["action"], "session.start");
        assert_eq!(event["agent_id"], user.as_str(), "whose account it is");
        assert_eq!(event["metadata"].get("by"), None, "who it was is not known");
        assert_eq!(event["metadata"]["client_address"], "127.0.0.1");
    }
    let listed = running.customer.all_events().await;
    assert!(listed.is_empty(), "another organization is told nothing");
}

#[tokio::test]
async fn people_log_in_while_the_journal_is_away_and_it_is_told_afterwards() {
    const LOGINS: usize = 9;
    let mut nats = own::nats().expect("NATS");
    let deployment = Deployment::on_journal(&nats.url());
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let mut person = Person::founder(&customer.base_url).await;
    told(&person, "login", 1).await;
    nats.kill();

    let started = Stopwatch::start();
    for _ in 0..LOGINS {
        person.log_in(PASSWORD).await;
    }
    // Each may wait two seconds for the trail, however many there are to tell.
    let most = Duration::from_secs(4 * LOGINS as u64);
    assert!(started.elapsed() < most, "{:?}", started.elapsed());

    nats.restart().expect("NATS starts again");
    told(&person, "login", 1 + LOGINS).await;
}
