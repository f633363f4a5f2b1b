//! Who may make an organization, and under which names and addresses.

use reqwest::StatusCode;
use serde_json::json;

use crate::deployment::{DEADLINE, Deployment};
use crate::errors::problem;
use crate::people::{PASSWORD, Person, Town};

#[tokio::test]
async fn where_registration_is_closed_people_come_in_by_invitation_alone() {
    let town = Town::start();
    let stranger = town.stranger();
    stranger.register().await;
    let mailed = town.mail.wait_for(&stranger.email, 1, DEADLINE).await;

    let Town {
        server,
        mail,
        deployment,
        ..
    } = town;
    drop(server);
    let deployment = deployment.with("ACCOUNTS__REGISTRATION", "closed");
    let mut closed = deployment.serve("api");
    let base_url = closed.url(DEADLINE);
    let stranger = Person {
        base_url: base_url.clone(),
        ..stranger
    };
    let about = stranger.get_json("/v1/about").await;
    assert_eq!(about["registration"], "closed");
    let refused = problem(stranger.register().await, 403).await;
    assert_eq!(refused["code"], "FORBIDDEN");
    let detail = refused["detail"].as_str().expect("a sentence");
    assert!(detail.contains("admin create-org"), "{detail}");
    let late = stranger.try_verify(&mailed.token(), PASSWORD).await;
    problem(late, 403).await;
    assert_eq!(deployment.sql("SELECT count(*) FROM organisations"), "0");

    let ann = Person::made_by_command(&deployment, &base_url, "ann@example.com").await;
    let mut bob = Person::at(&base_url);
    ann.invite(&bob.email, "viewer").await;
    let invited = mail.wait_for(&bob.email, 1, DEADLINE).await;
    let chosen = json!({"token": invited.token(), "password": PASSWORD});
    let accepted = bob.post("/v1/auth/accept-invitation", &chosen).await;
    assert_eq!(accepted.status(), StatusCode::NO_CONTENT);
    bob.log_in(PASSWORD).await;
}

#[tokio::test]
async fn a_word_that_is_neither_open_nor_closed_stops_the_start() {
    let deployment = Deployment::new().with("ACCOUNTS__REGISTRATION", "invite");
    let mut server = deployment.command(&["serve"]);
    server.wait_for_line(DEADLINE, |line| line.contains("registration"));
    assert!(!server.wait_until_ended(DEADLINE).success());
}

#[tokio::test]
async fn no_web_address_stands_in_the_name_of_an_organization_nor_in_a_mail_because_of_one() {
    let town = Town::start();
    let eve = town.stranger();
    let link = "Your account is locked: https://evil.example/login";
    for name in [link, "evil.example", "See www.evil"] {
        let body = json!({"organisation": name, "email": eve.email, "password": PASSWORD});
        let refused = problem(eve.post("/v1/auth/register", &body).await, 422).await;
        assert_eq!(refused["errors"][0]["pointer"], "/organisation");
    }
    let ann = town.owner().await;
    let named = ann.patch("/v1/org", &json!({"name": link})).await;
    assert_eq!(problem(named, 422).await["errors"][0]["pointer"], "/name");
    let named = ann.patch("/v1/org", &json!({"name": "Acme Inc."})).await;
    assert_eq!(named.status(), StatusCode::OK);

    // A name from before.
    let sql = format!("UPDATE organisations SET name = '{link}'");
    town.deployment.sql(&sql);
    ann.invite(&eve.email, "viewer").await;
    let mail = town.mail.wait_for(&eve.email, 1, DEADLINE).await;
    assert!(!mail.body.contains("evil"), "{}", mail.body);
}

#[tokio::test]
async fn without_mail_nobody_takes_an_operators_address_by_coming_first() {
    let address = "ops@example.com";
    let deployment = Deployment::new().with("ACCOUNTS__OPERATORS", address);
    let mut server = deployment.serve("api");
    let base_url = server.url(DEADLINE);
    let eve = Person::founder(&base_url).await;
    let taken = || Person {
        email: "OPS@Example.com".to_owned(),
        ..Person::at(&base_url)
    };
    assert_eq!(
        problem(taken().register().await, 403).await["code"],
        "FORBIDDEN"
    );
    let invitation = json!({"email": address, "role": "owner"});
    problem(eve.post("/v1/invitations", &invitation).await, 403).await;
    assert_eq!(deployment.sql("SELECT count(*) FROM users"), "1");

    let operator = Person::made_by_command(&deployment, &base_url, address).await;
    assert_eq!(operator.get_json("/v1/me").await["user"]["operator"], true);
    problem(taken().register().await, 403).await;
}

#[tokio::test]
async fn an_invitation_from_before_makes_no_operator_without_mail() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api");
    let eve = Person::founder(&server.url(DEADLINE)).await;
    let invitation = eve.invite("ops@example.com", "viewer").await;
    let link = invitation["link"].as_str().expect("a link").to_owned();
    let (_, token) = link.split_once("#token=").expect("a token");
    drop(server);

    let deployment = deployment.with("ACCOUNTS__OPERATORS", "ops@example.com");
    let mut server = deployment.serve("api");
    let stranger = Person::at(&server.url(DEADLINE));
    let chosen = json!({"token": token, "password": PASSWORD});
    let accepted = stranger.post("/v1/auth/accept-invitation", &chosen).await;
    problem(accepted, 403).await;
    assert_eq!(deployment.sql("SELECT count(*) FROM users"), "1");
}

#[tokio::test]
async fn with_mail_an_operator_registers_like_everybody() {
    let deployment = Deployment::new().with("ACCOUNTS__OPERATORS", "Op@Example.com, eve@b.example");
    let town = Town::with(deployment);
    let mut operator = Person {
        email: "op@example.com".to_owned(),
        ..town.stranger()
    };
    assert_eq!(operator.register().await.status(), StatusCode::ACCEPTED);
    let mail = town.mail.wait_for(&operator.email, 1, DEADLINE).await;
    operator.verify(&mail.token()).await;
    let said = operator.log_in(PASSWORD).await;
    assert_eq!(said["user"]["operator"], true);
}
