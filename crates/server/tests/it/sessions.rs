//! Sessions: what the cookie is like, how long it lasts, who ends it, and which pages may use it.

use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};
use testkit::eventually;

use crate::deployment::{DEADLINE, Deployment, Running, ok};
use crate::errors::problem;
use crate::people::{PASSWORD, Person, Town, set_cookie};

/// The cookie's attributes, without its value.
fn attributes(cookie: &str) -> Vec<String> {
    let mut attributes: Vec<_> = cookie.split("; ").skip(1).map(str::to_owned).collect();
    attributes.sort();
    attributes
}

#[tokio::test]
async fn the_cookie_is_hidden_from_scripts_and_from_other_sites() {
    let town = Town::start();
    let ann = town.owner().await;
    let answer = ann.try_log_in(PASSWORD).await;
    let cookie = set_cookie(&answer);
    assert!(cookie.starts_with("watchbell_session=wbs_"), "{cookie}");
    let expected = ["HttpOnly", "Max-Age=2592000", "Path=/", "SameSite=Lax"];
    assert_eq!(attributes(&cookie), expected);
    let mut cookies = answer.headers().get_all(header::SET_COOKIE).iter();
    let mark = cookies.nth(1).expect("a mark").to_str().expect("plain");
    assert!(mark.starts_with("watchbell_known=wbb_"), "{mark}");
    let expected = ["HttpOnly", "Max-Age=34560000", "Path=/", "SameSite=Lax"];
    assert_eq!(attributes(mark), expected);
    let cleared = set_cookie(&ann.post("/v1/auth/logout", &json!({})).await);
    assert_eq!(
        attributes(&cleared),
        ["HttpOnly", "Max-Age=0", "Path=/", "SameSite=Lax"]
    );
}

#[tokio::test]
async fn where_people_come_by_https_the_cookie_is_secure_and_bound_to_the_host() {
    let mut town =
        Town::with(Deployment::new().with("HTTP__PUBLIC_URL", "https://wb.example.com/"));
    let mut ann = town.stranger();
    ann.register().await;
    let mail = town.mail.wait_for(&ann.email, 1, DEADLINE).await;
    assert!(
        mail.body
            .contains("\nhttps://wb.example.com/verify-email#token="),
        "{}",
        mail.body
    );
    ann.verify(&mail.token()).await;
    let cookie = set_cookie(&ann.try_log_in(PASSWORD).await);
    assert!(
        cookie.starts_with("__Host-watchbell_session=wbs_"),
        "{cookie}"
    );
    assert!(
        attributes(&cookie).contains(&"Secure".to_owned()),
        "{cookie}"
    );
    ann.log_in(PASSWORD).await;
    assert!(ann.is_logged_in().await);

    let renamed = ann
        .cookie
        .as_ref()
        .expect("a cookie")
        .replace("__Host-", "");
    ann.cookie = Some(renamed);
    assert!(
        !ann.is_logged_in().await,
        "a cookie that another host could have set"
    );
    town.server.terminate(DEADLINE);
    assert!(
        !town
            .server
            .lines()
            .iter()
            .any(|line| line.contains("plain http"))
    );
}

#[tokio::test]
async fn plain_http_for_others_than_this_machine_is_warned_about() {
    let deployment = Deployment::new().with("HTTP__PUBLIC_URL", "http://wb.example.com");
    let mut server = deployment.serve("api");
    server.wait_for_line(DEADLINE, |line| {
        line.contains("\"WARN\"") && line.contains("http.public_url is plain http")
    });
}

#[tokio::test]
async fn one_sees_ones_own_sessions_and_ends_them_one_by_one() {
    let town = Town::start();
    let ann = town.owner().await;
    let mut phone = ann.clone();
    let login = ann
        .request(Method::POST, "/v1/auth/login")
        .header(header::USER_AGENT, format!("phone {}", "x".repeat(400)))
        .json(&json!({"email": ann.email, "password": PASSWORD}));
    let answer = login.send().await.expect("an answer");
    phone.cookie = set_cookie(&answer).split(';').next().map(str::to_owned);
    let bob = town.invited(&ann, "admin").await;

    let list = ann.get_json("/v1/auth/sessions").await;
    let sessions = list["data"].as_array().expect("sessions");
    assert_eq!(sessions.len(), 2, "{list}");
    assert_eq!(sessions[0]["current"], false);
    assert_eq!(sessions[1]["current"], true);
    assert_eq!(sessions[0]["client_address"], "127.0.0.1");
    let agent = sessions[0]["user_agent"].as_str().expect("a text");
    assert!(
        agent.starts_with("phone x") && agent.len() == 256,
        "{agent}"
    );
    assert!(!list.to_string().contains("wbs_"));

    let ended = |session: &Value| {
        format!(
            "/v1/auth/sessions/{}",
            session["id"].as_str().expect("an id")
        )
    };
    problem(bob.delete(&ended(&sessions[0])).await, 404).await;
    problem(ann.delete("/v1/auth/sessions/ses_nonsense").await, 404).await;
    assert!(phone.is_logged_in().await);
    assert_eq!(
        ann.delete(&ended(&sessions[0])).await.status(),
        StatusCode::NO_CONTENT
    );
    assert!(!phone.is_logged_in().await);
    problem(ann.delete(&ended(&sessions[0])).await, 404).await;
    assert!(ann.is_logged_in().await);
    assert_eq!(
        ann.delete(&ended(&sessions[1])).await.status(),
        StatusCode::NO_CONTENT
    );
    assert!(!ann.is_logged_in().await);
    assert!(bob.is_logged_in().await);
}

#[tokio::test]
async fn a_session_ends_after_a_week_without_use_and_after_a_month_in_any_case() {
    let town = Town::start();
    let ann = town.owner().await;
    let set = |column: &str, when: &str| {
        town.deployment
            .sql(&format!("UPDATE sessions SET {column} = now() {when}"));
    };
    let seen = || {
        town.deployment
            .sql("SELECT now() - last_seen_at < interval '10 seconds' FROM sessions")
    };

    set("last_seen_at", "- interval '4 minutes'");
    assert!(ann.is_logged_in().await);
    assert_eq!(seen(), "f", "not written again within five minutes");
    set("last_seen_at", "- interval '6 days 23 hours'");
    assert!(ann.is_logged_in().await);
    assert_eq!(seen(), "t", "using it moves its end");

    set("last_seen_at", "- interval '7 days 1 second'");
    assert!(!ann.is_logged_in().await);
    set("last_seen_at", "");
    assert!(ann.is_logged_in().await);
    let lasts = "SELECT round(extract(epoch FROM expires_at - created_at) / 86400) FROM sessions";
    assert_eq!(town.deployment.sql(lasts), "30");
    set("expires_at", "- interval '1 second'");
    assert!(!ann.is_logged_in().await);
}

#[tokio::test]
async fn of_more_than_fifty_sessions_the_oldest_end() {
    let town = Town::start();
    let ann = town.owner().await;
    for _ in 0..50 {
        assert_eq!(ann.try_log_in(PASSWORD).await.status(), StatusCode::OK);
    }
    assert!(!ann.is_logged_in().await);
    assert_eq!(town.deployment.sql("SELECT count(*) FROM sessions"), "50");
}

#[tokio::test]
async fn what_has_run_out_is_removed_by_and_by_and_what_has_not_stays() {
    let town = Town::start();
    let ann = town.owner().await;
    let tables = [
        "sessions",
        "registrations",
        "password_resets",
        "invitations",
    ];
    let mut bob = ann.clone();
    let make = async |person: &mut Person| {
        person.log_in(PASSWORD).await;
        town.stranger().register().await;
        let sent = town.mail.count();
        person
            .post("/v1/auth/password-reset", &json!({"email": person.email}))
            .await;
        town.mail.count_after(sent + 1, DEADLINE).await;
        person.invite(&town.stranger().email, "viewer").await;
    };
    make(&mut bob).await;
    let count = |table: &str| {
        town.deployment
            .sql(&format!("SELECT count(*) FROM {table}"))
    };
    let before = tables.map(count);
    for table in tables {
        let sql = format!("UPDATE {table} SET expires_at = now() - interval '1 second'");
        town.deployment.sql(&sql);
    }
    make(&mut bob).await;
    assert_ne!(tables.map(count), before);
    let _second = town.deployment.serve("api");
    eventually(DEADLINE, "the old ones are gone", async || {
        let left = tables.map(count);
        (left == ["1", "1", "1", "1"]).then_some(()).ok_or(left)
    })
    .await;
    assert!(bob.is_logged_in().await);
}

#[tokio::test]
async fn a_made_up_cookie_opens_nothing() {
    let town = Town::start();
    let ann = town.owner().await;
    let mut eve = ann.clone();
    let real = ann.cookie.clone().expect("a cookie");
    for cookie in [
        "watchbell_session=",
        "watchbell_session=wbs_",
        &format!("watchbell_session=wbs_{}", "0".repeat(64)),
        &real.to_uppercase(),
        &real.replace("wbs_", "wbt_"),
        &real[..real.len() - 1],
        "nonsense",
    ] {
        eve.cookie = Some(cookie.to_owned());
        assert!(!eve.is_logged_in().await, "{cookie}");
    }
    eve.cookie = Some(format!("theme=dark; {real}; lang=de"));
    assert!(eve.is_logged_in().await, "among other cookies");
}

#[tokio::test]
async fn another_sites_page_can_do_nothing_with_the_cookie() {
    let town = Town::with(Deployment::new().with("HTTP__PUBLIC_URL", "http://wb.example.com"));
    let ann = town.owner().await;
    let own_host = town.base_url.clone();
    let rename = |headers: &[(&'static str, &str)]| {
        let mut request = ann
            .request(Method::PATCH, "/v1/org")
            .json(&json!({"name": "Renamed"}));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request
    };
    let login = |origin: &str| {
        let body = json!({"email": ann.email, "password": PASSWORD});
        Person {
            cookie: None,
            ..ann.clone()
        }
        .request(Method::POST, "/v1/auth/login")
        .header("origin", origin)
        .json(&body)
    };
    for headers in [
        [("sec-fetch-site", "cross-site")].as_slice(),
        &[("sec-fetch-site", "same-site")],
        &[("origin", "https://evil.example.com")],
        &[("origin", "null")],
        &[
            ("sec-fetch-site", "cross-site"),
            ("origin", "https://evil.example.com"),
        ],
    ] {
        let refused = rename(headers).send().await.expect("an answer");
        assert_eq!(
            problem(refused, 403).await["code"],
            "CROSS_SITE",
            "{headers:?}"
        );
    }
    let refused = login("https://evil.example.com")
        .send()
        .await
        .expect("an answer");
    assert!(refused.headers().get("set-cookie").is_none());
    assert_eq!(problem(refused, 403).await["code"], "CROSS_SITE");
    assert_eq!(
        ann.get_json("/v1/org").await["name"],
        "Acme",
        "nothing was done"
    );

    for headers in [
        [].as_slice(),
        &[("sec-fetch-site", "same-origin")],
        &[("sec-fetch-site", "none")],
        &[("origin", &own_host)],
        &[
            ("sec-fetch-site", "cross-site"),
            ("origin", "http://wb.example.com"),
        ],
    ] {
        let answer = rename(headers).send().await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK, "{headers:?}");
    }
    let answer = login("http://wb.example.com")
        .send()
        .await
        .expect("an answer");
    assert_eq!(answer.status(), StatusCode::OK);
    let read = ann
        .request(Method::GET, "/v1/me")
        .header("sec-fetch-site", "cross-site");
    ok(read.send().await.expect("an answer")).await;
}

#[tokio::test]
async fn another_site_cannot_log_anybody_out_by_adding_credentials_of_its_own() {
    let town = Town::start();
    let ann = town.owner().await;
    // A form that is sent to `http://a:b@host/` carries the first.
    for authorization in ["Basic YTpi", "Bearer nonsense", ""] {
        let refused = ann
            .request(Method::POST, "/v1/auth/logout")
            .header("sec-fetch-site", "cross-site")
            .header(header::AUTHORIZATION, authorization);
        let refused = refused.send().await.expect("an answer");
        assert!(refused.headers().get("set-cookie").is_none());
        problem(refused, 403).await;
        assert!(ann.is_logged_in().await, "{authorization}");
    }
}

#[tokio::test]
async fn an_api_key_is_not_asked_which_site_it_comes_from() {
    let running = Running::start(Deployment::new());
    let rule = json!({"name": "A", "match": {}, "url": "http://127.0.0.1:9"});
    let request = running
        .customer
        .request(Method::POST, "/v1/alert-rules")
        .header("sec-fetch-site", "cross-site")
        .header("origin", "https://dashboard.example.com")
        .json(&rule);
    let answer = request.send().await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::CREATED);
}

#[tokio::test]
async fn a_session_reads_what_a_key_reads_and_a_key_is_no_person() {
    let deployment = Deployment::new();
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let mut owner = Person::at(&server.url(DEADLINE));
    owner.email = deployment.sql("SELECT email FROM users");
    let mut command = deployment.command(&["admin", "reset-link", "--email", &owner.email]);
    assert!(command.wait_until_ended(DEADLINE).success());
    let printed: Value = serde_json::from_str(&command.stdout()[0]).expect("JSON");
    let chosen = json!({"token": printed["token"], "password": PASSWORD});
    owner.post("/v1/auth/password-reset/confirm", &chosen).await;
    assert_eq!(owner.log_in(PASSWORD).await["user"]["role"], "owner");

    customer.ingest(&crate::deployment::event("agent-1")).await;
    let by_key = customer.get_json("/v1/audit/events").await;
    assert_eq!(
        owner.get_json("/v1/audit/events").await["data"],
        by_key["data"]
    );
    for path in [
        "/v1/me",
        "/v1/org",
        "/v1/members",
        "/v1/invitations",
        "/v1/auth/sessions",
    ] {
        let refused = problem(customer.get(path).await, 403).await;
        assert_eq!(refused["code"], "FORBIDDEN", "{path}");
        problem(Person::at(&server.url(DEADLINE)).get(path).await, 401).await;
    }
    let both = owner
        .request(Method::GET, "/v1/me")
        .header(header::AUTHORIZATION, "Bearer nonsense");
    problem(both.send().await.expect("an answer"), 401).await;
}
