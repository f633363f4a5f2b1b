//! The life of policies: written once, tried, activated, rolled back, and every step in the trail.

use futures::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::eventually;

use crate::deployment::{Customer, DEADLINE, Deployment, Running, ok};
use crate::errors::problem;
use crate::people::{Person, Town};

/// Permits everything but refunds.
pub(crate) const NO_REFUNDS: &str = r#"
@id("allow-all")
permit (principal, action, resource);

@id("no-refunds")
@reason("Refunds are for people.")
forbid (principal, action == Action::"payments.refund", resource);
"#;

/// Permits everything but deletions.
pub(crate) const NO_DELETIONS: &str = r#"
@id("allow-all")
permit (principal, action, resource);

@id("no-deletions")
forbid (principal, action == Action::"files.delete", resource);
"#;

impl Customer {
    /// Writes a version and returns it.
    pub(crate) async fn write_policies(&self, policies: &str) -> Value {
        let body = json!({ "policies": policies });
        ok(self.post("/v1/policies/versions", &body).await).await
    }

    /// Puts a version in force and returns where the policies stand then.
    pub(crate) async fn activate(&self, version: u64) -> Value {
        let path = format!("/v1/policies/versions/{version}/activate");
        ok(self.post(&path, &json!({})).await).await
    }

    /// The events that say who changed policies, oldest first.
    async fn policy_changes(&self) -> Vec<Value> {
        let path = "/v1/audit/events?event_type=policy_change&order=asc&limit=1000";
        let page = self.get_json(path).await;
        page["data"].as_array().expect("data").clone()
    }
}

/// The versions that are active, watched, and to be rolled back to.
fn places(standing: &Value) -> Value {
    json!([
        standing["active"]["version"],
        standing["shadow"]["version"],
        standing["previous_version"]
    ])
}

#[tokio::test]
async fn everybody_begins_with_the_starter_which_nobody_wrote() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let standing = customer.get_json("/v1/policies").await;
    assert_eq!(places(&standing), json!([1, null, null]));
    assert_eq!(standing["newest_version"], 1);
    assert_eq!(
        standing["settings"],
        json!({
            "fail_mode": "closed", "approval_timeout_s": 900, "approval_valid_s": 300,
            "shadow_mode_allowed": false, "self_approval_allowed": false,
        })
    );
    let starter = customer.get_json("/v1/policies/versions/1").await;
    assert_eq!(starter["digest"], standing["active"]["digest"]);
    assert_eq!(starter["created_by"], Value::Null);
    let text = starter["policies"].as_str().expect("a text");
    assert!(text.contains("permit (principal, action, resource);"));
    let listed = customer.get_json("/v1/policies/versions").await;
    assert_eq!(listed["data"][0]["version"], 1);
    let same = customer
        .post("/v1/policies/versions", &json!({ "policies": text }))
        .await;
    assert_eq!(same.status(), StatusCode::OK, "it is there already");
    assert_eq!(ok(same).await["version"], 1);
}

#[tokio::test]
async fn a_version_is_kept_as_it_was_written_and_the_same_again_makes_no_other() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let body = json!({"policies": NO_REFUNDS, "note": "Refunds are for people"});
    let made = customer.post("/v1/policies/versions", &body).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    let made = ok(made).await;
    assert_eq!(made["version"], 2);
    assert_eq!(made["policies"], NO_REFUNDS);
    assert_eq!(made["size"], 2);
    assert_eq!(made["note"], "Refunds are for people");
    let by = made["created_by"].as_str().expect("who");
    assert!(by.starts_with("key_"), "{by}");
    let digest = made["digest"].as_str().expect("a digest");
    assert!(
        digest.starts_with("sha256:") && digest.len() == 71,
        "{digest}"
    );

    let again = json!({"policies": NO_REFUNDS, "note": "Another note"});
    let again = customer.post("/v1/policies/versions", &again).await;
    assert_eq!(again.status(), StatusCode::OK);
    assert_eq!(ok(again).await, made);
    assert_eq!(customer.write_policies(NO_DELETIONS).await["version"], 3);
    let back = customer.write_policies(NO_REFUNDS).await;
    assert_eq!(back["version"], 4, "only the newest is compared");
    assert_eq!(back["digest"], made["digest"]);
    assert_eq!(customer.get_json("/v1/policies/versions/2").await, made);

    let (mut numbers, mut next) = (Vec::new(), "/v1/policies/versions?limit=2".to_owned());
    loop {
        let page = customer.get_json(&next).await;
        let data = page["data"].as_array().expect("data");
        assert!(data.iter().all(|one| one.get("policies").is_none()));
        numbers.extend(data.iter().map(|one| one["version"].clone()));
        let Some(cursor) = page["next_cursor"].as_str() else {
            break;
        };
        next = format!("/v1/policies/versions?limit=2&cursor={cursor}");
    }
    assert_eq!(json!(numbers), json!([4, 3, 2, 1]));
    let standing = customer.get_json("/v1/policies").await;
    assert_eq!(standing["active"]["version"], 1, "it is in force nowhere");
    for absent in ["0", "5", "-1", "x", "4294967296"] {
        let path = format!("/v1/policies/versions/{absent}");
        problem(customer.get(&path).await, 404).await;
    }
    for method in [Method::PUT, Method::PATCH, Method::DELETE] {
        let request = customer.request(method, "/v1/policies/versions/2");
        let answer = request.json(&json!({"policies": ""})).send().await;
        problem(answer.expect("an answer"), 405).await;
    }
}

#[tokio::test]
async fn a_version_is_activated_and_rolled_back_and_nobody_overrides_another_unseen() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.write_policies(NO_REFUNDS).await;
    customer.write_policies(NO_DELETIONS).await;
    let standing = customer.activate(2).await;
    assert_eq!(places(&standing), json!([2, null, 1]));
    let version = customer.get_json("/v1/policies/versions/2").await;
    assert_eq!(standing["active"]["digest"], version["digest"]);
    assert_eq!(standing["active"]["by"], version["created_by"]);
    assert_eq!(customer.activate(2).await, standing, "it is already");

    let three = "/v1/policies/versions/3/activate";
    let stale = customer.post(three, &json!({"expect_active": 1})).await;
    let stale = problem(stale, 409).await;
    assert_eq!(stale["code"], "STATE_CONFLICT");
    let detail = stale["detail"].as_str().expect("a text");
    assert!(detail.contains("Version 2 is active"), "{detail}");
    let expected = ok(customer.post(three, &json!({"expect_active": 2})).await).await;
    assert_eq!(places(&expected), json!([3, null, 2]));
    let repeated = customer.post(three, &json!({"expect_active": 2})).await;
    assert_eq!(ok(repeated).await, expected, "sent again it is as wanted");

    let rollback = "/v1/policies/rollback";
    let stale = customer.post(rollback, &json!({"expect_active": 2})).await;
    problem(stale, 409).await;
    let back = ok(customer.post(rollback, &json!({})).await).await;
    assert_eq!(places(&back), json!([2, null, null]));
    let again = problem(customer.post(rollback, &json!({})).await, 409).await;
    assert_eq!(again["code"], "STATE_CONFLICT", "it does not undo itself");
    let first = customer.activate(1).await;
    assert_eq!(places(&first), json!([1, null, 2]), "back to the starter");
    let absent = customer
        .post("/v1/policies/versions/9/activate", &json!({}))
        .await;
    problem(absent, 404).await;
}

#[tokio::test]
async fn of_many_who_activate_what_they_saw_exactly_one_wins_and_numbers_have_no_gaps() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let writes = (0..12).map(|number| async move {
        let policies = NO_REFUNDS.replace("no-refunds", &format!("no-refunds-{number}"));
        let made = customer.write_policies(&policies).await;
        made["version"].as_u64().expect("a number")
    });
    let mut numbers = join_all(writes).await;
    numbers.sort_unstable();
    assert_eq!(numbers, (2..14).collect::<Vec<u64>>());
    let activations = (2..14).map(|version| async move {
        let path = format!("/v1/policies/versions/{version}/activate");
        let answer = customer.post(&path, &json!({"expect_active": 1})).await;
        answer.status().as_u16()
    });
    let mut answers = join_all(activations).await;
    answers.sort_unstable();
    assert_eq!(answers[0], 200);
    assert_eq!(answers[1..], [409; 11]);
}

#[tokio::test]
async fn a_version_is_watched_until_that_is_stopped_or_it_is_activated() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.write_policies(NO_REFUNDS).await;
    customer.write_policies(NO_DELETIONS).await;
    let watch = async |version: u32| {
        let path = format!("/v1/policies/versions/{version}/shadow");
        customer.post(&path, &json!({})).await
    };
    problem(customer.get("/v1/policies/shadow").await, 404).await;
    let watched = ok(watch(2).await).await;
    assert_eq!(places(&watched), json!([1, 2, null]));
    assert!(watched["shadow"]["since"].is_string(), "{watched}");
    assert_eq!(ok(watch(2).await).await, watched, "it goes on");
    let another = ok(watch(3).await).await;
    assert_eq!(places(&another), json!([1, 3, null]));
    assert_eq!(problem(watch(1).await, 409).await["code"], "STATE_CONFLICT");
    problem(watch(4).await, 404).await;

    let active = customer.activate(3).await;
    assert_eq!(places(&active), json!([3, null, 1]));
    ok(watch(2).await).await;
    customer.delete("/v1/policies/shadow").await;
    customer.delete("/v1/policies/shadow").await;
    let standing = customer.get_json("/v1/policies").await;
    assert_eq!(places(&standing), json!([3, null, 1]));
}

#[tokio::test]
async fn settings_are_changed_within_bounds_and_one_at_a_time() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let changed = customer
        .patch("/v1/policies", &json!({"fail_mode": "open"}))
        .await;
    assert_eq!(changed["settings"]["fail_mode"], "open");
    let changed = customer
        .patch("/v1/policies", &json!({"approval_timeout_s": 604_800}))
        .await;
    assert_eq!(
        changed["settings"],
        json!({
            "fail_mode": "open", "approval_timeout_s": 604_800, "approval_valid_s": 300,
            "shadow_mode_allowed": false, "self_approval_allowed": false,
        })
    );
    let send = async |fields: Value| {
        let request = customer
            .request(Method::PATCH, "/v1/policies")
            .json(&fields);
        request.send().await.expect("an answer")
    };
    let wrong = json!({"approval_timeout_s": 9, "approval_valid_s": 604_801});
    let refused = problem(send(wrong).await, 422).await;
    let pointers: Vec<&Value> = refused["errors"]
        .as_array()
        .expect("errors")
        .iter()
        .map(|error| &error["pointer"])
        .collect();
    assert_eq!(pointers, ["/approval_timeout_s", "/approval_valid_s"]);
    for unreadable in [
        json!({"fail_mode": "ajar"}),
        json!({"mode": "open"}),
        json!({"approval_valid_s": -1}),
    ] {
        problem(send(unreadable).await, 400).await;
    }
    assert_eq!(customer.get_json("/v1/policies").await, changed);
}

#[tokio::test]
async fn every_step_is_in_the_trail_with_who_took_it() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let two = customer.write_policies(NO_REFUNDS).await;
    let three = customer.write_policies(NO_DELETIONS).await;
    customer.activate(2).await;
    let watch = "/v1/policies/versions/3/shadow";
    ok(customer.post(watch, &json!({})).await).await;
    customer.activate(3).await;
    ok(customer.post("/v1/policies/rollback", &json!({})).await).await;
    ok(customer.post(watch, &json!({})).await).await;
    customer.delete("/v1/policies/shadow").await;
    customer
        .patch("/v1/policies", &json!({"approval_valid_s": 60}))
        .await;
    customer.activate(2).await;

    let settings =
        json!({"fail_mode": "closed", "approval_timeout_s": 900, "approval_valid_s": 60});
    let of = |version: &Value| json!({"version": version["version"], "digest": version["digest"]});
    let instead = |version: &Value, before: u32| {
        let mut about = of(version);
        about["instead_of"] = before.into();
        about
    };
    let events = customer.policy_changes().await;
    let told: Vec<Value> = events
        .iter()
        .map(|event| json!([event["action"], event["metadata"]]))
        .collect();
    // In the order of their ids: those of one millisecond may be in another than they happened in.
    let wanted = [
        json!(["policy.version_created", of(&two)]),
        json!(["policy.version_created", of(&three)]),
        json!(["policy.activated", instead(&two, 1)]),
        json!(["policy.shadow_started", of(&three)]),
        json!(["policy.activated", instead(&three, 2)]),
        json!(["policy.shadow_stopped", of(&three)]),
        json!(["policy.rolled_back", instead(&two, 3)]),
        json!(["policy.shadow_started", of(&three)]),
        json!(["policy.shadow_stopped", of(&three)]),
        json!(["policy.settings_changed", { "settings": settings }]),
    ];
    let sorted = |values: &[Value]| {
        let mut texts: Vec<String> = values.iter().map(ToString::to_string).collect();
        texts.sort_unstable();
        texts
    };
    assert_eq!(sorted(&told), sorted(&wanted));
    for event in &events {
        assert_eq!(event["agent_id"], two["created_by"]);
        assert_eq!(event["result"], "success");
    }
}

#[tokio::test]
async fn a_change_whose_node_died_before_the_trail_had_it_is_told_once_by_another() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let two = customer.write_policies(NO_REFUNDS).await;
    assert_eq!(customer.policy_changes().await.len(), 1);
    // One was recorded, but its node died before it noted that; the other was only saved.
    running.deployment.sql(
        "INSERT INTO policy_changes (org_id, number, what, version, digest, made_by, made_at)
         SELECT org_id, 1, 'policy.version_created', version, digest, created_by, created_at
         FROM policy_versions;
         INSERT INTO policy_changes (org_id, number, what, version, digest, made_by, made_at)
         SELECT org_id, 2, 'policy.shadow_started', version, digest, created_by, now() - interval '1 minute'
         FROM policy_versions",
    );
    eventually(DEADLINE, "both are told", async || {
        let left = "SELECT count(*) FROM policy_changes";
        running.deployment.sql(left).trim() == "0"
    })
    .await;
    let told = customer.policy_changes().await;
    let mut actions: Vec<_> = told.iter().map(|event| event["action"].clone()).collect();
    actions.sort_by_key(ToString::to_string);
    assert_eq!(actions, ["policy.shadow_started", "policy.version_created"]);
    let is_two = |event: &Value| event["metadata"]["digest"] == two["digest"];
    assert!(told.iter().all(is_two), "{told:?}");
}

#[tokio::test]
async fn a_viewer_sees_policies_and_changes_none_and_strangers_see_their_own() {
    let town = Town::start();
    let ann = town.owner().await;
    let viewer = town.invited(&ann, "viewer").await;
    let body = json!({ "policies": NO_REFUNDS });
    let made = ok(ann.post("/v1/policies/versions", &body).await).await;
    let (ann_id, _) = ann.ids().await;
    assert_eq!(made["created_by"], ann_id.as_str());
    let active = ann
        .post("/v1/policies/versions/2/activate", &json!({}))
        .await;
    ok(active).await;

    let two = "/v1/policies/versions/2";
    assert_eq!(viewer.get_json(two).await, made);
    let standing = viewer.get_json("/v1/policies").await;
    let stranger = town.owner().await;
    problem(stranger.get(two).await, 404).await;
    let theirs = stranger.get_json("/v1/policies").await;
    assert_eq!(places(&theirs), json!([1, null, null]));
    let send = async |person: &Person, method: Method, path: &str| {
        let request = person.request(method, path).json(&json!({}));
        request.send().await.expect("an answer")
    };
    for what in ["activate", "shadow", "backtest"] {
        let path = format!("{two}/{what}");
        problem(send(&stranger, Method::POST, &path).await, 404).await;
        problem(send(&viewer, Method::POST, &path).await, 403).await;
    }
    for path in ["versions", "validate", "test", "rollback"] {
        let path = format!("/v1/policies/{path}");
        problem(send(&viewer, Method::POST, &path).await, 403).await;
    }
    problem(send(&viewer, Method::PATCH, "/v1/policies").await, 403).await;
    problem(
        send(&viewer, Method::DELETE, "/v1/policies/shadow").await,
        403,
    )
    .await;
    assert_eq!(viewer.get_json("/v1/policies").await, standing);
}
