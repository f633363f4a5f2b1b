//! The end of an organization, asked for by an owner or an operator and put off for a while.

use std::time::Duration;

use domain::account::Scope;
use domain::{OrgId, Timestamp};
use reqwest::Response;
use serde_json::{Value, json};
use testkit::eventually;

use crate::deletion_work::wait_until_gone;
use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, ok};
use crate::errors::problem;
use crate::load::now;
use crate::people::{PASSWORD, Person, Town};
const DELETION: &str = "/v1/org/deletion";
const DAY: Duration = Duration::from_secs(24 * 3600);

/// An organization that is going to be deleted.
pub struct Doomed {
    pub owner: Person,
    pub key: Customer,
    pub org: OrgId,
}

impl Doomed {
    pub async fn found(base_url: &str) -> Self {
        let owner = Person::founder(base_url).await;
        let scopes: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
        let key = owner.key(&scopes).await;
        let (_, org) = owner.ids().await;
        let org = org.parse().expect("an id");
        Self { owner, key, org }
    }

    pub async fn delete(&self) -> Value {
        ok(ask(&self.owner, "Acme", PASSWORD).await).await
    }
}

async fn ask(person: &Person, name: &str, password: &str) -> Response {
    let body = json!({"name": name, "current_password": password});
    person.post(DELETION, &body).await
}

#[tokio::test]
async fn an_owner_has_it_deleted_later_which_all_owners_and_the_trail_are_told_and_another_cancels()
{
    let town = Town::start();
    let _index = town.deployment.serve("index");
    let ann = town.owner().await;
    let (ann_id, _) = ann.ids().await;
    let bob = town.invited(&ann, "owner").await;
    let (bob_id, _) = bob.ids().await;
    let carol = town.invited(&ann, "admin").await;
    let key = ann.key(&["events:write"]).await;
    assert_eq!(ann.get_json("/v1/org").await.get("deletes_at"), None);

    let asked = ok(ask(&ann, "Acme", PASSWORD).await).await;
    let deletes_at = asked["deletes_at"].as_str().expect("a time");
    let deletes_at = Timestamp::parse(deletes_at).expect("a time");
    let left = deletes_at.since(now());
    assert!(left > DAY * 6 && left <= DAY * 7, "{left:?}");
    let again = ok(ask(&bob, "Acme", PASSWORD).await).await;
    assert_eq!(again, asked, "asking again changes nothing");
    assert_eq!(carol.get_json("/v1/org").await, asked);
    assert_eq!(carol.get_json("/v1/me").await["organisation"], asked);
    assert_eq!(carol.clone().log_in(PASSWORD).await["organisation"], asked);
    key.ingest(&event("as before")).await;
    for owner in [&ann, &bob] {
        let mail = town.mail.wait_for(&owner.email, 2, DEADLINE).await;
        assert_eq!(mail.subject, "Your organization is scheduled for deletion");
        assert!(mail.body.contains(&ann.email), "{}", mail.body);
    }

    let kept = ok(bob.delete(DELETION).await).await;
    assert_eq!(kept.get("deletes_at"), None);
    assert_eq!(ann.get_json("/v1/org").await, kept);
    problem(bob.delete(DELETION).await, 404).await;
    for owner in [&ann, &bob] {
        let mail = town.mail.wait_for(&owner.email, 3, DEADLINE).await;
        assert_eq!(mail.subject, "Your organization will not be deleted");
    }
    let mails = town.mail.mails_to(&carol.email);
    assert_eq!(mails.len(), 1, "an admin is told in the console");

    let path = "/v1/audit/events?event_type=permission_change&action=";
    for (action, by) in [
        ("organisation.delete", ann_id),
        ("organisation.keep", bob_id),
    ] {
        let told = eventually(DEADLINE, action, async || {
            let page = ann.get_json(&format!("{path}{action}")).await;
            let told = page["data"].as_array().expect("data").clone();
            (!told.is_empty()).then_some(told)
        })
        .await;
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0]["agent_id"], by.as_str());
        assert_eq!(told[0]["source"], "server");
        assert_eq!(told[0]["metadata"]["deletes_at"], asked["deletes_at"]);
    }
}

#[tokio::test]
async fn nobody_but_an_owner_who_knows_its_name_and_their_password_has_it_deleted() {
    let town = Town::start();
    let _index = town.deployment.serve("index");
    let ann = town.owner().await;
    for role in ["admin", "viewer"] {
        let other = town.invited(&ann, role).await;
        let refused = problem(ask(&other, "Acme", PASSWORD).await, 403).await;
        assert!(
            refused["detail"]
                .as_str()
                .expect("a text")
                .contains("owner")
        );
        problem(other.delete(DELETION).await, 403).await;
    }
    let scopes: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    let key = ann.key(&scopes).await;
    let body = json!({"name": "Acme", "current_password": PASSWORD});
    problem(key.post(DELETION, &body).await, 403).await;
    let refused = problem(ask(&ann, "Another", PASSWORD).await, 422).await;
    assert_eq!(refused["errors"][0]["pointer"], "/name");
    let refused = problem(ask(&ann, "Acme", "a wrong password").await, 422).await;
    assert_eq!(refused["errors"][0]["pointer"], "/current_password");
    assert_eq!(ann.get_json("/v1/org").await.get("deletes_at"), None);

    eventually(DEADLINE, "the trail tells of the wrong one", async || {
        let path = "/v1/audit/events?event_type=login&result=denied";
        let page = ann.get_json(path).await;
        page["data"].as_array().expect("data").len() == 1
    })
    .await;
}

#[tokio::test]
async fn who_found_a_session_open_cannot_guess_the_password_here_either() {
    let deployment = Deployment::new().with("LIMITS__PASSWORD_CHANGES", "2/1h");
    let mut server = deployment.serve("api");
    let ann = Person::founder(&server.url(DEADLINE)).await;
    problem(ask(&ann, "Acme", "a wrong password").await, 422).await;
    let change =
        json!({"current_password": "a wrong password", "password": "a new and better one"});
    problem(ann.post("/v1/me/password", &change).await, 422).await;
    problem(ask(&ann, "Acme", PASSWORD).await, 429).await;
}

#[tokio::test]
async fn an_operator_has_an_organization_deleted_and_its_owner_sees_when() {
    let running = Running::start(Deployment::new());
    let doomed = Doomed::found(&running.customer.base_url).await;
    let org = doomed.org.to_string();
    let delete = |days: &str| {
        let arguments = [
            "admin",
            "delete-org",
            "--org",
            org.as_str(),
            "--after-days",
            days,
        ];
        let mut command = running.deployment.command(&arguments);
        let line = command.wait_for_line(DEADLINE, |line| line.contains("deletes_at"));
        assert!(command.wait_until_ended(DEADLINE).success());
        serde_json::from_str::<Value>(&line).expect("JSON")
    };
    let said = delete("3");
    assert_eq!(
        (&said["org_id"], &said["name"]),
        (&json!(org), &json!("Acme"))
    );
    let shown = doomed.owner.get_json("/v1/org").await;
    assert_eq!(shown["deletes_at"], said["deletes_at"]);
    eventually(DEADLINE, "the trail tells of the operator", async || {
        let path = "/v1/audit/events?action=organisation.delete";
        let page = doomed.owner.get_json(path).await;
        page["data"][0]["agent_id"] == "operator"
    })
    .await;
    ok(doomed.owner.delete(DELETION).await).await;
    delete("0");
    wait_until_gone(&running.deployment, doomed.org).await;

    let arguments = ["admin", "delete-org", "--org", org.as_str()];
    let mut command = running.deployment.command(&arguments);
    assert!(!command.wait_until_ended(DEADLINE).success(), "it is gone");
}
