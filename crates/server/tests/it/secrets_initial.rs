//! The secret that an organization has from its first minute, and no other has.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Received, Receiver, eventually};
use tokio::time::sleep;

use crate::deployment::{Customer, DEADLINE, Deployment, ROOT_SECRET, SECRET, event, http, ok};
use crate::people::Person;
use crate::secrets::{HEADERS, Office, is_signed, verified, with_key};

/// What verifies a delivery at an organization's receivers from its first minute.
async fn initial(person: &Person) -> String {
    let shown = ok(person.get("/v1/signing-secrets/initial").await).await;
    shown["secret"].as_str().expect("a secret").to_owned()
}

#[tokio::test]
async fn no_organization_can_sign_what_the_receiver_of_another_verifies() {
    let deployment = with_key().without("DELIVERY__SHARED_SIGNING_SECRET");
    let mut server = deployment.serve_all();
    let base_url = server.url(DEADLINE);
    let (victim, attacker) = (Office::open(&base_url).await, Office::open(&base_url).await);
    let (theirs, own) = (
        initial(&victim.person).await,
        initial(&attacker.person).await,
    );
    assert_ne!(theirs, own);
    assert!(![theirs.as_str(), own.as_str()].contains(&ROOT_SECRET));
    victim.signed([Some(&theirs), None, None]).await;

    // A rule whose receiver is the victim's, and an event of the attacker's choice.
    let rule = json!({"result": ["denied"]});
    attacker.customer.rule(rule, &victim.receiver.url()).await;
    let forged = attacker.customer.ingest(&event("forged")).await;
    let arrived = async || {
        let is_it = |one: &Received| one.event_id().as_ref() == Some(&forged);
        victim.receiver.received_where(is_it).into_iter().next()
    };
    let received = eventually(DEADLINE, "it arrives", arrived).await;
    let values = HEADERS.map(|header| received.header(header));
    for secret in [&theirs, ROOT_SECRET, SECRET] {
        assert!(
            verified(&received, secret, &values).is_err(),
            "it is taken for the victim's"
        );
    }
    assert!(is_signed(&received, [Some(&own), None, None]));
}

#[tokio::test]
async fn an_initial_secret_is_shown_to_who_manages_secrets_and_overlaps_with_the_first_of_ones_own()
{
    let deployment = with_key().without("DELIVERY__SHARED_SIGNING_SECRET");
    let mut server = deployment.serve_all();
    let office = Office::open(&server.url(DEADLINE)).await;
    let secret = initial(&office.person).await;
    assert_eq!(
        secret,
        initial(&office.person).await,
        "it can be shown again"
    );
    office.signed([Some(&secret), None, None]).await;
    let refused = office.customer.get("/v1/signing-secrets/initial").await;
    assert_eq!(refused.status(), 403, "keys do not manage secrets");

    let (id, text) = office.stage().await;
    office.signed([Some(&secret), None, Some(&text)]).await;
    office.promote(&id, 3600).await;
    office.signed([Some(&text), Some(&secret), None]).await;
    let list = ok(office.person.get("/v1/signing-secrets").await).await;
    assert_eq!(list["initial"]["state"], "previous");
}

#[tokio::test]
async fn whoever_makes_an_organization_by_hand_is_told_its_secret() {
    let deployment = Deployment::new().without("DELIVERY__SHARED_SIGNING_SECRET");
    let mut server = deployment.serve_all();
    let arguments = [
        "admin",
        "create-org",
        "--name",
        "Test",
        "--email",
        "ann@example.com",
    ];
    let mut command = deployment.command(&arguments);
    let line = command.wait_for_line(DEADLINE, |line| line.contains("api_key"));
    let founded: Value = serde_json::from_str(&line).expect("JSON");
    let text = |field: &str| founded[field].as_str().expect("a text").to_owned();
    let customer = Customer {
        http: http(),
        base_url: server.url(DEADLINE),
        api_key: text("api_key"),
    };
    let receiver = Receiver::start().expect("a receiver");
    customer.rule(json!({}), &receiver.url()).await;
    customer.ingest(&event("agent")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    assert!(is_signed(
        &received[0],
        [Some(&text("signing_secret")), None, None]
    ));
}

#[tokio::test]
async fn who_comes_from_a_shared_secret_gives_receivers_the_initial_one_first() {
    let shared = with_key();
    let mut server = shared.serve_all();
    let office = Office::open(&server.url(DEADLINE)).await;
    office.signed([Some(SECRET), None, None]).await;
    let secret = initial(&office.person).await;
    assert!(
        ![SECRET, ROOT_SECRET].contains(&secret.as_str()),
        "neither of the deployment's is shown"
    );

    server.terminate(DEADLINE);
    let address = server.address(DEADLINE).to_string();
    let own = shared
        .without("DELIVERY__SHARED_SIGNING_SECRET")
        .with("HTTP__LISTEN", &address);
    let _server = own.serve_all();
    // waits for: the client to see that its connections are closed
    sleep(Duration::from_millis(200)).await;
    office.signed([Some(&secret), None, None]).await;
}

#[tokio::test]
async fn a_changed_root_signs_with_both_initial_secrets_until_the_old_one_is_left_out() {
    const NEW: &str = "whsec_YW5vdGhlciByb290IGZvciB0ZXN0cyBvbmx5ISEhISEhISE=";
    let before = with_key().without("DELIVERY__SHARED_SIGNING_SECRET");
    let mut server = before.serve_all();
    let office = Office::open(&server.url(DEADLINE)).await;
    let old = initial(&office.person).await;
    server.terminate(DEADLINE);
    let address = server.address(DEADLINE).to_string();
    let after = before
        .with("DELIVERY__SIGNING_SECRET", NEW)
        .with("DELIVERY__PREVIOUS_SIGNING_SECRET", ROOT_SECRET)
        .with("HTTP__LISTEN", &address);
    let _server = after.serve_all();
    // waits for: the client to see that its connections are closed
    sleep(Duration::from_millis(200)).await;
    let new = initial(&office.person).await;
    assert_ne!(old, new);
    office.signed([Some(&new), Some(&old), None]).await;
}
