//! Signing secrets of an organization's own: staged, promoted and dropped by people, and shown once.

use std::sync::{Arc, Mutex};

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Answer, Received, Receiver, eventually};
use tokio::sync::watch;
use tokio::task::JoinSet;
use webhook_signature::{Refusal, Verifier, standard};

use crate::deployment::{Customer, DEADLINE, Deployment, SECRET, event, http, ok};
use crate::errors::{problem, refused};
use crate::people::Person;

/// 32 bytes in base64, for tests only.
pub(crate) const SEALING_KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
pub(crate) const HEADERS: [&str; 3] = [
    "x-service-signature",
    "x-service-signature-previous",
    "x-service-signature-next",
];

/// An organization with a person who rotates, a key that ingests, and a receiver.
pub(crate) struct Office {
    pub(crate) person: Person,
    pub(crate) customer: Customer,
    pub(crate) receiver: Receiver,
}

impl Office {
    pub(crate) async fn open(base_url: &str) -> Self {
        let person = Person::founder(base_url).await;
        let scopes = [
            "events:write",
            "events:read",
            "rules:write",
            "deliveries:read",
        ];
        let wanted = json!({"name": "Test", "scopes": scopes});
        let key = ok(person.post("/v1/api-keys", &wanted).await).await;
        let customer = Customer {
            http: http(),
            base_url: base_url.to_owned(),
            api_key: key["api_key"].as_str().expect("a key").to_owned(),
        };
        let receiver = Receiver::start().expect("a receiver");
        customer
            .rule(json!({"result": ["denied"]}), &receiver.url())
            .await;
        Self {
            person,
            customer,
            receiver,
        }
    }

    /// Stages a secret; its id and its text.
    pub(crate) async fn stage(&self) -> (String, String) {
        let made = ok(self.person.post("/v1/signing-secrets", &json!({})).await).await;
        assert_eq!(made["state"], "staged");
        let text = |field: &str| made[field].as_str().expect("a text").to_owned();
        (text("id"), text("secret"))
    }

    pub(crate) async fn promote(&self, id: &str, overlap_s: u64) -> Value {
        let path = format!("/v1/signing-secrets/{id}/promote");
        let overlap = json!({"overlap_s": overlap_s});
        ok(self.person.post(&path, &overlap).await).await
    }

    pub(crate) async fn drop(&self, id: &str) {
        let answer = self
            .person
            .delete(&format!("/v1/signing-secrets/{id}"))
            .await;
        assert_eq!(answer.status(), 204);
    }

    /// Sends events until one arrives that is signed like this, and returns it.
    pub(crate) async fn signed(&self, secrets: [Option<&str>; 3]) -> Arc<Received> {
        let what = format!(
            "a delivery is signed with {} secrets",
            secrets.iter().flatten().count()
        );
        eventually(DEADLINE, &what, async || {
            let id = self.customer.ingest(&event("agent-1")).await;
            let arrived = async || {
                let is_it = |one: &Received| one.event_id().as_ref() == Some(&id);
                self.receiver.received_where(is_it).into_iter().next()
            };
            let received = eventually(DEADLINE, "it arrives", arrived).await;
            is_signed(&received, secrets).then_some(received)
        })
        .await
    }
}

pub(crate) fn with_key() -> Deployment {
    Deployment::new().with("SECRETS__KEY", SEALING_KEY)
}

/// Whether the headers main, previous and next were made with these secrets, and no others are there.
pub(crate) fn is_signed(received: &Received, secrets: [Option<&str>; 3]) -> bool {
    let ours = HEADERS.into_iter().zip(secrets).all(|(header, secret)| {
        let value = received.header(header);
        match secret {
            None => value.is_none(),
            Some(secret) => verified(received, secret, &[value]).is_ok(),
        }
    });
    let keys: Vec<_> = secrets.into_iter().flatten().collect();
    ours && keys
        .iter()
        .all(|secret| is_standard_signed(received, secret))
}

pub(crate) fn verified(
    received: &Received,
    secret: &str,
    values: &[Option<&str>],
) -> Result<(), Refusal> {
    Verifier::new([secret]).verify_any(
        received.header("x-service-timestamp"),
        values,
        &received.body,
        received.arrived_at,
    )
}

/// As a receiver with a Standard Webhooks library and this one secret sees it.
fn is_standard_signed(received: &Received, secret: &str) -> bool {
    let key = standard::Key::parse(secret).expect("a whsec_ secret");
    standard::verify(
        &[key],
        received.header(standard::ID_HEADER),
        received.header(standard::TIMESTAMP_HEADER),
        received.header(standard::SIGNATURE_HEADER),
        &received.body,
        received.arrived_at,
    )
    .is_ok()
}

#[tokio::test]
async fn a_secret_is_staged_promoted_and_dropped_and_its_text_is_shown_once() {
    let deployment = with_key();
    let mut server = deployment.serve_all();
    let office = Office::open(&server.url(DEADLINE)).await;
    let person = &office.person;
    let before = person.get_json("/v1/signing-secrets").await;
    assert_eq!(before["data"], json!([]));
    assert_eq!(before["initial"]["state"], "current");
    office.signed([Some(SECRET), None, None]).await;

    let (first, first_text) = office.stage().await;
    assert!(first_text.starts_with("whsec_") && first_text.len() == 50);
    office.signed([Some(SECRET), None, Some(&first_text)]).await;
    let second = person.request(Method::POST, "/v1/signing-secrets");
    let problem = refused(second, 409, "STATE_CONFLICT").await;
    assert!(problem["detail"].as_str().expect("a text").contains(&first));

    let promoted = office.promote(&first, 3_600).await;
    assert_eq!(promoted["state"], "current");
    // Sent again it changes nothing.
    assert_eq!(office.promote(&first, 0).await, promoted);
    office.signed([Some(&first_text), Some(SECRET), None]).await;
    let list = person.get_json("/v1/signing-secrets").await;
    assert_eq!(list["initial"]["state"], "previous");
    let path = format!("/v1/signing-secrets/{first}");
    let problem = refused(person.request(Method::DELETE, &path), 409, "STATE_CONFLICT").await;
    let detail = problem["detail"].as_str().expect("a text");
    assert!(detail.contains("Stage and promote another"), "{detail}");

    // While an overlap lasts only a promotion that makes no second one is possible.
    let (second, second_text) = office.stage().await;
    let path = format!("/v1/signing-secrets/{second}/promote");
    let request = person.request(Method::POST, &path).json(&json!({}));
    refused(request, 409, "STATE_CONFLICT").await;
    office.promote(&second, 0).await;
    office
        .signed([Some(&second_text), Some(SECRET), None])
        .await;

    let (third, third_text) = office.stage().await;
    office.drop(&third).await;
    office.drop(&third).await;
    let list = person.get_json("/v1/signing-secrets").await;
    let states: Vec<&str> = list["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["state"].as_str().expect("a state"))
        .collect();
    assert_eq!(states, ["dropped", "current", "dropped"]);

    let actions = eventually(DEADLINE, "the trail was told", async || {
        let page = "/v1/audit/events?event_type=signing_secret_change";
        let page = office.customer.get_json(page).await;
        let events = page["data"].as_array().expect("data").clone();
        let action = |one: &Value| one["action"].as_str().expect("an action").to_owned();
        let mut actions: Vec<String> = events.iter().rev().map(action).collect();
        actions.sort();
        (actions.len() == 6).then_some(actions).ok_or(page)
    })
    .await;
    let (drop, promote, stage) = (
        "signing_secrets.drop",
        "signing_secrets.promote",
        "signing_secrets.stage",
    );
    assert_eq!(actions, [drop, promote, promote, stage, stage, stage]);

    // Nobody else is told the text: not the list, the log, the database, the journal or the trail.
    let document = office.customer.get("/openapi.json").await;
    let events = office.customer.all_events().await;
    let stored = deployment.sql("SELECT * FROM signing_secrets")
        + &deployment.sql("SELECT * FROM config_outbox");
    let said = [
        list.to_string(),
        server.lines().join("\n"),
        stored,
        Value::from(events).to_string(),
        document.text().await.expect("a text"),
    ];
    for text in [first_text, second_text, third_text, SEALING_KEY.to_owned()] {
        let bare = text.trim_start_matches("whsec_");
        assert!(said.iter().all(|said| !said.contains(bare)));
    }
}

#[tokio::test]
async fn a_promotion_lasts_as_long_as_asked_and_no_longer_than_a_week() {
    let deployment = with_key();
    let mut server = deployment.serve_all();
    let office = Office::open(&server.url(DEADLINE)).await;
    let (first, first_text) = office.stage().await;
    let path = format!("/v1/signing-secrets/{first}/promote");
    let too_long = json!({"overlap_s": 7 * 86_400 + 1});
    let request = office.person.request(Method::POST, &path).json(&too_long);
    refused(request, 422, "VALIDATION_FAILED").await;
    office.promote(&first, 2).await;
    // The clock ends it; nobody drops it.
    office.signed([Some(&first_text), None, None]).await;
    let (second, second_text) = office.stage().await;
    office.promote(&second, 2).await;
    office
        .signed([Some(&second_text), Some(&first_text), None])
        .await;
    office.signed([Some(&second_text), None, None]).await;
    let list = office.person.get_json("/v1/signing-secrets").await;
    assert_eq!(list["data"][1]["state"], "dropped");
    assert_eq!(list["initial"]["state"], "dropped");
}

#[tokio::test]
async fn what_signs_goes_on_however_many_secrets_are_staged_and_dropped_after_it() {
    let deployment = with_key();
    let mut server = deployment.serve_all();
    let office = Office::open(&server.url(DEADLINE)).await;
    let (first, first_text) = office.stage().await;
    office.promote(&first, 0).await;
    let (second, second_text) = office.stage().await;
    office.promote(&second, 3_600).await;
    // One more than are kept after they ended.
    for _ in 0..101 {
        let (id, _) = office.stage().await;
        office.drop(&id).await;
    }
    let (_, next_text) = office.stage().await;
    let all = [&second_text, &first_text, &next_text].map(|text| Some(text.as_str()));
    office.signed(all).await;
    let list = office.person.get_json("/v1/signing-secrets").await;
    assert_eq!(list["data"].as_array().expect("a list").len(), 3 + 100);
}

#[tokio::test]
async fn an_api_key_and_a_stranger_to_the_organization_can_do_nothing_with_secrets() {
    let deployment = with_key();
    let mut server = deployment.serve("api,index");
    let base_url = server.url(DEADLINE);
    let (office, other) = (
        Office::open(&base_url).await,
        Person::founder(&base_url).await,
    );
    let (id, _) = office.stage().await;
    let (one, promote) = (
        format!("/v1/signing-secrets/{id}"),
        format!("/v1/signing-secrets/{id}/promote"),
    );
    let by_key = |method, path: &str| office.customer.request(method, path).json(&json!({}));
    for (method, path) in [
        (Method::GET, "/v1/signing-secrets"),
        (Method::POST, "/v1/signing-secrets"),
        (Method::DELETE, &one),
        (Method::POST, &promote),
    ] {
        refused(by_key(method, path), 403, "FORBIDDEN").await;
    }
    problem(other.delete(&one).await, 404).await;
    problem(other.post(&promote, &json!({})).await, 404).await;
    let list = other.get_json("/v1/signing-secrets").await;
    assert_eq!(list["data"], json!([]));
    assert_eq!(
        office.person.get_json("/v1/signing-secrets").await["data"][0]["id"],
        id.as_str()
    );
}

#[tokio::test]
async fn without_a_key_to_seal_with_the_answer_says_what_to_set() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api");
    let person = Person::founder(&server.url(DEADLINE)).await;
    let request = person.request(Method::POST, "/v1/signing-secrets");
    let problem = refused(request, 501, "NOT_CONFIGURED").await;
    assert!(
        problem["detail"]
            .as_str()
            .expect("a text")
            .contains("`secrets.key`")
    );
}

#[tokio::test]
async fn one_organizations_secret_signs_nothing_of_another() {
    let deployment = with_key();
    let mut server = deployment.serve_all();
    let base_url = server.url(DEADLINE);
    let (own, shared) = (Office::open(&base_url).await, Office::open(&base_url).await);
    let (id, text) = own.stage().await;
    own.promote(&id, 0).await;
    own.signed([Some(&text), None, None]).await;
    shared.signed([Some(SECRET), None, None]).await;
}

#[tokio::test]
async fn not_one_delivery_is_refused_while_the_secret_is_rotated_under_load() {
    let deployment = with_key();
    let mut server = deployment.serve_all();
    let office = Office::open(&server.url(DEADLINE)).await;
    let (old, old_text) = office.stage().await;
    office.promote(&old, 0).await;
    office.signed([Some(&old_text), None, None]).await;

    // A receiver that knows what it was given so far, and refuses the rest.
    let known = Arc::new(Mutex::new(vec![old_text.clone()]));
    let knows = Arc::clone(&known);
    office.receiver.answer_by(move |received| {
        let secrets = knows.lock().expect("no panic").clone();
        let values = HEADERS.map(|header| received.header(header));
        let verified = Verifier::new(secrets).verify_any(
            received.header("x-service-timestamp"),
            &values,
            &received.body,
            received.arrived_at,
        );
        Answer::status(verified.map_or_else(|refusal| refusal.http_status(), |()| 200))
    });
    office.receiver.clear();
    let (stopped, stop) = watch::channel(false);
    let customer = office.customer.clone();
    let mut load = JoinSet::new();
    load.spawn(async move {
        let mut sent = 0;
        while !*stop.borrow() {
            customer.ingest(&event("agent-1")).await;
            sent += 1;
        }
        sent
    });
    let more = async || {
        let so_far = office.receiver.count();
        office.receiver.wait_for(so_far + 20, DEADLINE).await;
    };
    more().await;
    let (new, new_text) = office.stage().await;
    more().await;
    known.lock().expect("no panic").push(new_text.clone());
    more().await;
    office.promote(&new, 3_600).await;
    more().await;
    // One that was changed over, and one that was forgotten, both go on.
    for only in [&new_text, &old_text, &new_text] {
        *known.lock().expect("no panic") = vec![only.clone()];
        more().await;
    }
    office.drop(&old).await;
    more().await;
    stopped.send_replace(true);
    let sent: usize = load.join_all().await.into_iter().sum();
    let received = office.receiver.wait_for(sent, DEADLINE).await;
    assert_eq!(received.len(), sent, "each came once");
    let refused = received.iter().filter(|one| one.answered != 200).count();
    assert_eq!(refused, 0);
    assert!(is_signed(
        received.last().expect("many"),
        [Some(&new_text), None, None]
    ));
    println!("{sent} deliveries over a rotation, none refused");
}
