//! How people come in: register, open the link, log in, log out; and what strangers cannot find out.

use reqwest::StatusCode;
use serde_json::json;
use testkit::{Stopwatch, namespace};

use crate::deployment::{DEADLINE, Deployment, ok};
use crate::errors::problem;
use crate::people::{PASSWORD, Person, Town, looks, set_cookie};

#[tokio::test]
async fn somebody_registers_opens_the_link_in_the_mail_logs_in_and_out() {
    let mut town = Town::start();
    let mut ann = town.stranger();
    assert_eq!(ann.register().await.status(), StatusCode::ACCEPTED);
    let mail = town.mail.wait_for(&ann.email, 1, DEADLINE).await;
    assert_eq!(mail.subject, "Confirm your email address");
    assert_eq!(mail.from, "Watchbell <bell@example.com>");
    assert_eq!(mail.to, [ann.email.as_str()]);
    assert!(
        mail.body
            .contains("http://127.0.0.1:8080/verify-email#token=wbt_")
    );
    assert!(mail.body.contains("POST /v1/auth/verify-email"));

    problem(ann.try_log_in(PASSWORD).await, 401).await;
    ann.verify(&mail.token()).await;
    let who = ann.log_in(PASSWORD).await;
    assert_eq!(who["user"]["email"], ann.email);
    assert_eq!(who["user"]["role"], "owner");
    assert_eq!(who["organisation"]["name"], "Acme");
    assert_eq!(ann.get_json("/v1/me").await, who);

    let used_up = ann.try_verify(&mail.token(), PASSWORD).await;
    assert_eq!(problem(used_up, 400).await["code"], "TOKEN_INVALID");

    let out = ann.post("/v1/auth/logout", &json!({})).await;
    assert_eq!(out.status(), StatusCode::NO_CONTENT);
    assert!(set_cookie(&out).starts_with("watchbell_session=; "));
    assert!(!ann.is_logged_in().await);
    ann.cookie = None;
    let again = ann.post("/v1/auth/logout", &json!({})).await;
    assert_eq!(again.status(), StatusCode::NO_CONTENT);

    let metrics = ann.get("/metrics").await.text().await.expect("a text");
    for outcome in ["succeeded", "failed"] {
        let line = format!("watchbell_logins_total{{outcome=\"{outcome}\"}} 1");
        assert!(metrics.contains(&line), "{metrics}");
    }

    let secrets = [ann.email.as_str(), PASSWORD, "wbt_", "wbs_", "wbb_"];
    town.server.terminate(DEADLINE);
    for line in town.server.lines() {
        assert!(
            !secrets.iter().any(|secret| line.contains(secret)),
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_registration_says_all_that_is_wrong_with_it_and_is_kept_only_when_nothing_is() {
    let town = Town::start();
    let stranger = town.stranger();
    let long = "x".repeat(129);
    let cases = [
        (
            json!({"organisation": " ", "email": "ann", "password": "short"}),
            vec!["/organisation", "/email", "/password"],
        ),
        (
            json!({"organisation": "A\nB", "email": "a@b.c", "password": PASSWORD}),
            vec!["/organisation"],
        ),
        (
            json!({"organisation": "A", "email": "a@b.c\r\nBcc: e@b.c", "password": PASSWORD}),
            vec!["/email"],
        ),
        (
            json!({"organisation": "A", "email": "a@b.c", "password": long}),
            vec!["/password"],
        ),
        (
            json!({"organisation": "A", "email": "Ann.Lee@example.com", "password": "ann.lee@example.com"}),
            vec!["/password"],
        ),
        (
            json!({"organisation": "A", "email": "a@b.c", "password": "123456789012"}),
            vec!["/password"],
        ),
        (
            json!({"organisation": "A", "email": "a@b.c", "password": "Password2026"}),
            vec!["/password"],
        ),
    ];
    for (body, pointers) in cases {
        let refused = problem(stranger.post("/v1/auth/register", &body).await, 422).await;
        let errors = refused["errors"].as_array().expect("errors").iter();
        let found: Vec<_> = errors
            .map(|error| error["pointer"].as_str().expect("a pointer"))
            .collect();
        assert_eq!(found, pointers, "{refused}");
        assert!(
            !refused
                .to_string()
                .contains(body["password"].as_str().expect("text"))
        );
    }
    let body =
        json!({"organisation": "A", "email": "a@b.c", "password": PASSWORD, "role": "owner"});
    problem(stranger.post("/v1/auth/register", &body).await, 400).await;
    assert_eq!(
        town.deployment.sql("SELECT count(*) FROM registrations"),
        "0"
    );
}

#[tokio::test]
async fn what_is_stored_opens_no_door() {
    let town = Town::start();
    let ann = town.owner().await;
    let stranger = town.stranger();
    stranger.register().await;
    let registration = town.mail.wait_for(&stranger.email, 1, DEADLINE).await;
    ann.invite(&town.stranger().email, "viewer").await;
    ann.post("/v1/auth/password-reset", &json!({"email": ann.email}))
        .await;
    let reset = town.mail.wait_for(&ann.email, 2, DEADLINE).await;
    let cookie = ann.cookie.as_ref().expect("a cookie");
    let (_, session) = cookie.split_once('=').expect("a value");
    for table in [
        "users",
        "sessions",
        "registrations",
        "password_resets",
        "invitations",
    ] {
        let rows = town.deployment.sql(&format!("SELECT * FROM {table}"));
        assert!(!rows.is_empty(), "{table}");
        for secret in [PASSWORD, session, &registration.token(), &reset.token()] {
            assert!(!rows.contains(secret), "{table}");
        }
    }
    let hashes = town.deployment.sql("SELECT password_hash FROM users");
    assert!(
        hashes.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
        "{hashes}"
    );
}

#[tokio::test]
async fn a_stranger_cannot_tell_by_an_answer_whether_an_address_has_an_account() {
    let town = Town::start();
    let ann = town.owner().await;
    let (unknown, unverified) = (town.stranger(), town.stranger());
    unverified.register().await;
    town.mail.wait_for(&unverified.email, 1, DEADLINE).await;

    let wrong = looks(
        Person {
            cookie: None,
            ..ann.clone()
        }
        .try_log_in("a wrong password")
        .await,
    )
    .await;
    assert_eq!(wrong.0, StatusCode::UNAUTHORIZED);
    assert_eq!(
        looks(unknown.try_log_in("a wrong password").await).await,
        wrong
    );
    assert_eq!(looks(unverified.try_log_in(PASSWORD).await).await, wrong);
    assert_eq!(
        looks(unknown.try_log_in(&"x".repeat(10_000)).await).await,
        wrong
    );

    let known = looks(ann.register().await).await;
    assert_eq!(known.0, StatusCode::ACCEPTED);
    assert_eq!(looks(unknown.register().await).await, known);

    let reset = async |email: &str| {
        let body = json!({"email": email});
        looks(unknown.post("/v1/auth/password-reset", &body).await).await
    };
    let known = reset(&ann.email).await;
    assert_eq!(known.0, StatusCode::ACCEPTED);
    assert_eq!(reset(&town.stranger().email).await, known);

    // Only who reads the mail learns it.
    let mails = [
        town.mail.wait_for(&ann.email, 2, DEADLINE).await,
        town.mail.wait_for(&ann.email, 3, DEADLINE).await,
    ];
    let mut subjects = mails.map(|mail| mail.subject);
    subjects.sort();
    assert_eq!(
        subjects,
        ["Choose a new password", "You already have an account"]
    );
    assert!(ann.is_logged_in().await);
    assert_eq!(ann.try_log_in(PASSWORD).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_registration_takes_nobodys_address_and_only_the_opened_one_counts() {
    let town = Town::start();
    let eve = town.stranger();
    let body =
        json!({"organisation": "Eve's", "email": eve.email, "password": "eve knows this password"});
    eve.post("/v1/auth/register", &body).await;
    let eves = town.mail.wait_for(&eve.email, 1, DEADLINE).await;

    let mut ann = Person {
        email: eve.email.to_uppercase(),
        ..eve.clone()
    };
    ann.register().await;
    let anns = town.mail.wait_for(&eve.email, 2, DEADLINE).await;
    assert_eq!(anns.subject, "Confirm your email address");
    ann.verify(&anns.token()).await;

    problem(ann.try_log_in("eve knows this password").await, 401).await;
    let who = ann.log_in(PASSWORD).await;
    assert_eq!(who["organisation"]["name"], "Acme");
    let late = eve
        .try_verify(&eves.token(), "eve knows this password")
        .await;
    assert_eq!(problem(late, 400).await["code"], "TOKEN_INVALID");
    assert_eq!(
        town.deployment.sql("SELECT count(*) FROM organisations"),
        "1"
    );
}

#[tokio::test]
async fn the_link_of_a_registration_that_somebody_else_made_gives_them_no_account() {
    let town = Town::start();
    let eve = town.stranger();
    let eves_password = "eve knows this password";
    let body = json!({"organisation": "Eve's", "email": eve.email, "password": eves_password});
    eve.post("/v1/auth/register", &body).await;
    let eves = town.mail.wait_for(&eve.email, 1, DEADLINE).await;
    let mut ann = eve.clone();
    ann.register().await;
    let anns = town.mail.wait_for(&ann.email, 2, DEADLINE).await;
    for (mail, organization) in [(&eves, "\"Eve's\""), (&anns, "\"Acme\"")] {
        assert!(mail.body.contains(organization), "{}", mail.body);
        assert!(mail.body.contains("If this was not you"), "{}", mail.body);
    }
    let created =
        "SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')
                   FROM registrations WHERE org_name = 'Acme'";
    assert!(anns.body.contains(&town.deployment.sql(created)));

    // Ann takes the wrong mail of the two for hers, and mistypes in the right one.
    let wrong = looks(ann.try_verify(&eves.token(), PASSWORD).await).await;
    assert_eq!(wrong.0, StatusCode::BAD_REQUEST);
    assert!(wrong.2.contains("TOKEN_INVALID"), "{}", wrong.2);
    let unknown = format!("wbt_{}", "0".repeat(64));
    for (token, password) in [
        (unknown.as_str(), PASSWORD),
        (&anns.token(), "correct horse batttery"),
        (&anns.token(), eves_password),
        (&anns.token(), ""),
        (&anns.token(), &"x".repeat(10_000)),
    ] {
        let answer = looks(ann.try_verify(token, password).await).await;
        assert_eq!(answer, wrong, "{password}");
    }
    let body = json!({"token": eves.token()});
    problem(ann.post("/v1/auth/verify-email", &body).await, 422).await;
    assert_eq!(town.deployment.sql("SELECT count(*) FROM users"), "0");

    ann.verify(&anns.token()).await;
    assert_eq!(ann.log_in(PASSWORD).await["organisation"]["name"], "Acme");
    problem(eve.try_log_in(eves_password).await, 401).await;
}

#[tokio::test]
async fn a_link_of_a_registration_runs_out_and_of_many_the_oldest_stay() {
    let town = Town::start();
    let ann = town.stranger();
    for number in 1..=5 {
        ann.register().await;
        town.mail.wait_for(&ann.email, number, DEADLINE).await;
    }
    // Two too many look like the others, and nobody is mailed for them. A mail that is handed in later
    // shows that none was on its way.
    let other = town.stranger();
    let kept = looks(other.register().await).await;
    assert_eq!(looks(ann.register().await).await, kept);
    assert_eq!(looks(ann.register().await).await, kept);
    other.register().await;
    town.mail.wait_for(&other.email, 2, DEADLINE).await;
    let waiting = format!(
        "SELECT count(*) FROM registrations WHERE email = '{}'",
        ann.email
    );
    assert_eq!(town.deployment.sql(&waiting), "5");
    let mails = town.mail.mails_to(&ann.email);
    assert_eq!(mails.len(), 5);

    let verify = async |number: usize| ann.try_verify(&mails[number].token(), PASSWORD).await;
    town.deployment
        .sql("UPDATE registrations SET expires_at = now() - interval '1 second'");
    problem(verify(0).await, 400).await;
    town.deployment
        .sql("UPDATE registrations SET expires_at = now() + interval '1 minute'");
    assert_eq!(verify(0).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(town.deployment.sql(&waiting), "0");
}

#[tokio::test]
async fn many_registrations_at_the_same_moment_keep_no_more_than_five() {
    let town = Town::start();
    let ann = town.stranger();
    let registered = futures::future::join_all((0..12).map(|_| ann.register())).await;
    for answer in registered {
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
    }
    assert_eq!(
        town.deployment.sql("SELECT count(*) FROM registrations"),
        "5"
    );
}

#[tokio::test]
async fn of_several_links_for_an_address_opened_at_the_same_moment_one_makes_the_account() {
    let town = Town::start();
    let ann = town.stranger();
    for number in 1..=5 {
        ann.register().await;
        town.mail.wait_for(&ann.email, number, DEADLINE).await;
    }
    let mails = town.mail.mails_to(&ann.email);
    let opened = mails.iter().map(|mail| {
        let (ann, token) = (&ann, mail.token());
        async move { ann.try_verify(&token, PASSWORD).await.status().as_u16() }
    });
    let mut statuses = futures::future::join_all(opened).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 400, 400, 400, 400]);
    assert_eq!(town.deployment.sql("SELECT count(*) FROM users"), "1");
    assert_eq!(
        town.deployment.sql("SELECT count(*) FROM organisations"),
        "1"
    );
}

#[tokio::test]
async fn without_a_mail_server_the_start_says_so_and_an_operators_link_stands_in() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api");
    let line = server.wait_for_line(DEADLINE, |line| line.contains("no mail is sent"));
    assert!(
        line.contains("\"WARN\"") && line.contains("mail.smtp_url"),
        "{line}"
    );

    let mut ann = Person::at(&server.url(DEADLINE));
    let registered = ok(ann.register().await).await;
    assert_eq!(ok(ann.register().await).await, registered, "taken by now");
    ann.log_in(PASSWORD).await;

    let wanted = json!({"email": ann.email});
    let answered = ok(ann.post("/v1/auth/password-reset", &wanted).await).await;
    let unknown = json!({"email": format!("{}@example.com", namespace())});
    assert_eq!(
        ok(ann.post("/v1/auth/password-reset", &unknown).await).await,
        answered
    );

    let mut command = deployment.command(&["admin", "reset-link", "--email", &ann.email]);
    let line = command.wait_for_line(DEADLINE, |line| line.contains("\"token\""));
    assert!(command.wait_until_ended(DEADLINE).success());
    let printed: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let token = printed["token"].as_str().expect("a token");
    let link = printed["link"].as_str().expect("a link");
    assert_eq!(
        link,
        format!("http://127.0.0.1:8080/reset-password#token={token}")
    );
    let chosen = json!({"token": token, "password": "another good password"});
    let confirmed = ann.post("/v1/auth/password-reset/confirm", &chosen).await;
    assert_eq!(confirmed.status(), StatusCode::NO_CONTENT);
    assert!(!ann.is_logged_in().await);
    ann.log_in("another good password").await;

    let nobody = format!("{}@example.com", namespace());
    let mut command = deployment.command(&["admin", "reset-link", "--email", &nobody]);
    assert!(!command.wait_until_ended(DEADLINE).success());

    let mut bob = Person::at(&server.url(DEADLINE));
    let invitation = ann.invite(&bob.email, "viewer").await;
    let link = invitation["link"].as_str().expect("a link to hand over");
    let (page, token) = link.split_once("#token=").expect("a token");
    assert_eq!(page, "http://127.0.0.1:8080/accept-invitation");
    let chosen = json!({"token": token, "password": PASSWORD});
    bob.post("/v1/auth/accept-invitation", &chosen).await;
    assert_eq!(bob.log_in(PASSWORD).await["user"]["role"], "viewer");
    let listed = ann.get_json("/v1/invitations").await;
    assert_eq!(listed["data"], json!([]));
}

#[tokio::test]
async fn with_a_mail_server_an_operators_link_works_too_and_replaces_the_mailed_one() {
    let town = Town::start();
    let ann = town.owner().await;
    ann.post("/v1/auth/password-reset", &json!({"email": ann.email}))
        .await;
    let mailed = town.mail.wait_for(&ann.email, 2, DEADLINE).await;
    let mut command = town
        .deployment
        .command(&["admin", "reset-link", "--email", &ann.email]);
    assert!(command.wait_until_ended(DEADLINE).success());
    let printed: serde_json::Value = serde_json::from_str(&command.stdout()[0]).expect("JSON");
    let confirm = async |token: &str| {
        let chosen = json!({"token": token, "password": "another good password"});
        ann.post("/v1/auth/password-reset/confirm", &chosen).await
    };
    problem(confirm(&mailed.token()).await, 400).await;
    let confirmed = confirm(printed["token"].as_str().expect("a token")).await;
    assert_eq!(confirmed.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn mail_settings_that_cannot_work_stop_the_start_and_hide_the_password() {
    for (name, value) in [
        ("MAIL__SMTP_URL", "pop3://user:s3cret@mail.example.com"),
        ("MAIL__FROM", "nobody"),
        ("HTTP__PUBLIC_URL", "watchbell.example.com"),
    ] {
        let mut server = Deployment::new().with(name, value).command(&["serve"]);
        assert!(!server.wait_until_ended(DEADLINE).success(), "{name}");
        let said = server.lines().join("\n");
        assert!(
            said.contains(&name.to_lowercase().replace("__", ".")),
            "{said}"
        );
        assert!(!said.contains("s3cret"), "{said}");
    }
}

#[tokio::test]
async fn many_logins_at_once_are_served_or_told_to_come_again_and_nothing_else_waits() {
    let town = Town::start();
    let ann = town.owner().await;
    // More than may wait: 32 for each core, and those whose turn it is.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let tries = (0..33 * cores + 80).map(|_| ann.try_log_in("a wrong password"));
    let (answers, me) = tokio::join!(futures::future::join_all(tries), async {
        let started = Stopwatch::start();
        assert!(ann.is_logged_in().await);
        started.elapsed()
    });
    let (mut refused, mut overloaded) = (0, 0);
    for answer in answers {
        match answer.status() {
            StatusCode::UNAUTHORIZED => refused += 1,
            StatusCode::SERVICE_UNAVAILABLE => {
                assert!(answer.headers().contains_key("retry-after"));
                assert_eq!(problem(answer, 503).await["code"], "OVERLOADED");
                overloaded += 1;
            }
            other => panic!("{other}"),
        }
    }
    assert!(refused > 0, "{refused} refused, {overloaded} overloaded");
    assert!(overloaded > 0, "{refused} refused, {overloaded} overloaded");
    assert!(me.as_secs() < 5, "{me:?}");
    assert_eq!(ann.try_log_in(PASSWORD).await.status(), StatusCode::OK);
}
