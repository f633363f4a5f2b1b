//! Members and their roles: who may do what to whom, and that there is always an owner.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::TcpStream;

use crate::errors::problem;
use crate::people::{PASSWORD, Person, Town};

async fn role_of(by: &Person, id: &str) -> String {
    let page = by.get_json("/v1/members").await;
    let members = page["data"].as_array().expect("members");
    let member = members
        .iter()
        .find(|one| one["id"] == id)
        .expect("a member");
    member["role"].as_str().expect("a role").to_owned()
}

async fn give(by: &Person, id: &str, role: &str) -> reqwest::Response {
    by.patch(&format!("/v1/members/{id}"), &json!({"role": role}))
        .await
}

#[tokio::test]
async fn who_is_removed_while_their_request_is_on_its_way_does_nothing_any_more() {
    let town = Town::start();
    let ann = town.owner().await;
    let bob = town.invited(&ann, "admin").await;
    let (bobs, _) = bob.ids().await;
    let body = r#"{"name":"Bob's"}"#;
    let host = town.base_url.trim_start_matches("http://");
    let mut slow = BufStream::new(TcpStream::connect(host).await.expect("connected"));
    let head = format!(
        "PATCH /v1/org HTTP/1.1\r\nHost: {host}\r\nCookie: {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
        bob.cookie.as_ref().expect("a cookie"),
        body.len()
    );
    slow.write_all(head.as_bytes()).await.expect("written");
    slow.flush().await.expect("sent");
    // The server asks for the body when it has checked who is there.
    let mut line = String::new();
    slow.read_line(&mut line).await.expect("read");
    assert!(line.starts_with("HTTP/1.1 100"), "{line}");

    let removed = ann.delete(&format!("/v1/members/{bobs}")).await;
    assert_eq!(removed.status(), StatusCode::NO_CONTENT);
    slow.write_all(body.as_bytes()).await.expect("written");
    slow.flush().await.expect("sent");
    let mut answer = String::new();
    slow.read_to_string(&mut answer).await.expect("read");
    assert!(answer.contains("HTTP/1.1 403"), "{answer}");
    assert_eq!(ann.get_json("/v1/org").await["name"], "Acme");
}

#[tokio::test]
async fn members_are_listed_page_by_page_with_their_roles() {
    let town = Town::start();
    let ann = town.owner().await;
    let bob = town.invited(&ann, "admin").await;
    let cleo = town.invited(&bob, "viewer").await;
    let mut seen = Vec::new();
    let mut path = "/v1/members?limit=2".to_owned();
    loop {
        let page = cleo.get_json(&path).await;
        for member in page["data"].as_array().expect("data") {
            seen.push((member["email"].clone(), member["role"].clone()));
        }
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/members?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    let expected = [(&cleo, "viewer"), (&bob, "admin"), (&ann, "owner")];
    let expected = expected.map(|(person, role)| (json!(person.email), json!(role)));
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_viewer_reads_everything_and_changes_nothing() {
    let town = Town::start();
    let ann = town.owner().await;
    let viewer = town.invited(&ann, "viewer").await;
    let (ann_id, _) = ann.ids().await;
    let invitation = ann.invite(&town.stranger().email, "viewer").await;
    let invitation = invitation["id"].as_str().expect("an id");
    for path in [
        "/v1/me",
        "/v1/org",
        "/v1/members",
        "/v1/invitations",
        "/v1/auth/sessions",
        "/v1/alert-rules",
        "/v1/deliveries",
        "/v1/audit/events",
    ] {
        viewer.get_json(path).await;
    }
    let rule = json!({"name": "A", "match": {}, "url": "http://127.0.0.1:9"});
    let refused = [
        viewer.patch("/v1/org", &json!({"name": "Mine"})).await,
        give(&viewer, &ann_id, "viewer").await,
        viewer.delete(&format!("/v1/members/{ann_id}")).await,
        viewer
            .post(
                "/v1/invitations",
                &json!({"email": "a@b.c", "role": "viewer"}),
            )
            .await,
        viewer
            .delete(&format!("/v1/invitations/{invitation}"))
            .await,
        viewer.post("/v1/alert-rules", &rule).await,
        viewer
            .post(
                "/v1/api-keys",
                &json!({"name": "A", "scopes": ["events:read"]}),
            )
            .await,
    ];
    for answer in refused {
        let what = answer.url().path().to_owned();
        assert_eq!(problem(answer, 403).await["code"], "FORBIDDEN", "{what}");
    }
    assert_eq!(ann.get_json("/v1/org").await["name"], "Acme");
    assert_eq!(role_of(&ann, &ann_id).await, "owner");

    give(&ann, &viewer.ids().await.0, "admin").await;
    let made = viewer.post("/v1/alert-rules", &rule).await;
    assert_eq!(
        made.status(),
        StatusCode::CREATED,
        "a new role counts at once"
    );
}

#[tokio::test]
async fn only_an_owner_makes_and_unmakes_owners() {
    let town = Town::start();
    let ann = town.owner().await;
    let admin = town.invited(&ann, "admin").await;
    let viewer = town.invited(&ann, "viewer").await;
    let (ann_id, _) = ann.ids().await;
    let (admin_id, _) = admin.ids().await;
    let (viewer_id, _) = viewer.ids().await;

    for (id, role) in [
        (&admin_id, "owner"),
        (&viewer_id, "owner"),
        (&ann_id, "admin"),
        (&ann_id, "owner"),
    ] {
        let refused = give(&admin, id, role).await;
        assert_eq!(problem(refused, 403).await["code"], "FORBIDDEN", "{role}");
    }
    problem(admin.delete(&format!("/v1/members/{ann_id}")).await, 403).await;
    let invited = json!({"email": "a@b.c", "role": "owner"});
    problem(admin.post("/v1/invitations", &invited).await, 403).await;

    assert_eq!(
        give(&admin, &viewer_id, "admin").await.status(),
        StatusCode::OK
    );
    assert_eq!(
        give(&admin, &viewer_id, "viewer").await.status(),
        StatusCode::OK
    );
    assert_eq!(
        give(&ann, &admin_id, "owner").await.status(),
        StatusCode::OK
    );
    assert_eq!(
        give(&admin, &ann_id, "viewer").await.status(),
        StatusCode::OK
    );
    assert_eq!(role_of(&ann, &ann_id).await, "viewer");
    problem(give(&ann, &viewer_id, "boss").await, 403).await;
    problem(give(&admin, &viewer_id, "boss").await, 400).await;
}

#[tokio::test]
async fn the_last_owner_can_neither_leave_nor_become_something_else() {
    let town = Town::start();
    let ann = town.owner().await;
    let bob = town.invited(&ann, "admin").await;
    let (ann_id, _) = ann.ids().await;
    let path = format!("/v1/members/{ann_id}");
    for role in ["admin", "viewer"] {
        assert_eq!(
            problem(give(&ann, &ann_id, role).await, 409).await["code"],
            "LAST_OWNER"
        );
    }
    assert_eq!(
        problem(ann.delete(&path).await, 409).await["code"],
        "LAST_OWNER"
    );
    assert_eq!(give(&ann, &ann_id, "owner").await.status(), StatusCode::OK);

    give(&ann, &bob.ids().await.0, "owner").await;
    assert_eq!(ann.delete(&path).await.status(), StatusCode::NO_CONTENT);
    assert!(!ann.is_logged_in().await);
    problem(ann.try_log_in(PASSWORD).await, 401).await;
    let (bob_id, _) = bob.ids().await;
    problem(bob.delete(&format!("/v1/members/{bob_id}")).await, 409).await;
}

#[tokio::test]
async fn of_owners_who_demote_each_other_at_the_same_moment_one_stays() {
    let town = Town::start();
    let ann = town.owner().await;
    let mut owners = vec![ann.clone()];
    for _ in 0..3 {
        owners.push(town.invited(&ann, "owner").await);
    }
    let mut ids = Vec::new();
    for owner in &owners {
        ids.push(owner.ids().await.0);
    }
    for round in 0..5 {
        // Each demotes the next and themself.
        let demotions = (0..8).map(|number| {
            let (by, id) = (&owners[number % 4], &ids[(number + number / 4) % 4]);
            async move { give(by, id, "viewer").await.status().as_u16() }
        });
        let answers = futures::future::join_all(demotions).await;
        assert!(
            answers
                .iter()
                .all(|status| [200, 403, 409].contains(status)),
            "{answers:?}"
        );
        let left = town
            .deployment
            .sql("SELECT count(*) FROM users WHERE role = 'owner'");
        assert_eq!(left, "1", "round {round}: {answers:?}");
        town.deployment.sql("UPDATE users SET role = 'owner'");
    }
}

#[tokio::test]
async fn a_member_who_is_removed_is_out_at_once_and_may_come_back_when_invited_again() {
    let town = Town::start();
    let ann = town.owner().await;
    let mut bob = town.invited(&ann, "admin").await;
    let second = town.stranger();
    bob.invite(&second.email, "admin").await;
    let backdoor = town
        .mail
        .wait_for(&second.email, 1, crate::deployment::DEADLINE)
        .await;
    let (bob_id, _) = bob.ids().await;

    let removed = ann.delete(&format!("/v1/members/{bob_id}")).await;
    assert_eq!(removed.status(), StatusCode::NO_CONTENT);
    assert!(!bob.is_logged_in().await);
    problem(bob.try_log_in(PASSWORD).await, 401).await;
    problem(ann.delete(&format!("/v1/members/{bob_id}")).await, 404).await;
    let chosen = json!({"token": backdoor.token(), "password": PASSWORD});
    let refused = second.post("/v1/auth/accept-invitation", &chosen).await;
    assert_eq!(problem(refused, 400).await["code"], "TOKEN_INVALID");

    ann.invite(&bob.email, "viewer").await;
    let mail = town
        .mail
        .wait_for(&bob.email, 2, crate::deployment::DEADLINE)
        .await;
    let chosen = json!({"token": mail.token(), "password": PASSWORD});
    bob.post("/v1/auth/accept-invitation", &chosen).await;
    assert_eq!(bob.log_in(PASSWORD).await["user"]["role"], "viewer");
    let (bob_id, _) = bob.ids().await;
    let left = bob.delete(&format!("/v1/members/{bob_id}")).await;
    assert_eq!(left.status(), StatusCode::NO_CONTENT, "a viewer may leave");
}

#[tokio::test]
async fn organizations_never_see_each_others_members_invitations_or_sessions() {
    let town = Town::start();
    let (ann, eve) = (town.owner().await, town.owner().await);
    let (ann_id, ann_org) = ann.ids().await;
    let (_, eve_org) = eve.ids().await;
    assert_ne!(ann_org, eve_org);
    let invitation = ann.invite(&town.stranger().email, "viewer").await;
    let sessions = ann.get_json("/v1/auth/sessions").await;
    let id = |value: &Value| value["id"].as_str().expect("an id").to_owned();

    let member = format!("/v1/members/{ann_id}");
    problem(eve.patch(&member, &json!({"role": "viewer"})).await, 404).await;
    problem(eve.delete(&member).await, 404).await;
    problem(
        eve.delete(&format!("/v1/invitations/{}", id(&invitation)))
            .await,
        404,
    )
    .await;
    problem(
        eve.delete(&format!("/v1/auth/sessions/{}", id(&sessions["data"][0])))
            .await,
        404,
    )
    .await;
    for path in [
        "/v1/members",
        "/v1/invitations",
        "/v1/auth/sessions",
        "/v1/me",
    ] {
        let seen = eve.get_json(path).await.to_string();
        assert!(
            !seen.contains(&ann.email) && !seen.contains(&ann_id),
            "{path}: {seen}"
        );
    }

    assert!(ann.is_logged_in().await);
    assert_eq!(role_of(&ann, &ann_id).await, "owner");
    assert_eq!(
        ann.get_json("/v1/invitations").await["data"][0]["id"],
        invitation["id"]
    );
}

#[tokio::test]
async fn an_organization_is_renamed_by_admins() {
    let town = Town::start();
    let ann = town.owner().await;
    let admin = town.invited(&ann, "admin").await;
    let renamed = admin
        .patch("/v1/org", &json!({"name": "  Ærø & Co  "}))
        .await;
    assert_eq!(renamed.status(), StatusCode::OK);
    let org = ann.get_json("/v1/org").await;
    assert_eq!(org["name"], "Ærø & Co");
    assert_eq!(ann.get_json("/v1/me").await["organisation"], org);
    for name in ["", "   ", "a\nb", &"x".repeat(101)] {
        let refused = problem(admin.patch("/v1/org", &json!({"name": name})).await, 422).await;
        assert_eq!(refused["errors"][0]["pointer"], "/name");
    }
}
