//! A log whose owner made it public: anybody reads and checks it, without a key, and nothing else.

use std::collections::HashSet;

use reqwest::{StatusCode, header};
use serde_json::{Value, json};
use testkit::{eventually, folder::TestFolder};
use transparency_log::{Bundle, Edge, Hash, SignedCheckpoint, VerifierKey, bundle};

use crate::deployment::{DEADLINE, ok};
use crate::errors::problem;
use crate::people::{Person, Town};
use crate::transparency::{Auditor, kept_in, send};

/// Somebody on the internet, who has an address and nothing else.
struct Passerby {
    http: reqwest::Client,
    prefix: String,
}

impl Passerby {
    async fn get(&self, path: &str) -> reqwest::Response {
        let url = format!("{}/{path}", self.prefix);
        self.http.get(url).send().await.expect("an answer")
    }

    async fn text(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        answer.text().await.expect("a text")
    }

    async fn is_turned_away(&self) {
        for path in ["checkpoint", "keys", "tile/0/000", "tile/entries/000"] {
            let refused = problem(self.get(path).await, 404).await;
            let detail = refused["detail"].as_str().expect("a text");
            assert!(detail.contains("no public log"), "{refused}");
        }
    }
}

/// The events about who may read the log, newest first.
async fn told(owner: &Person, count: usize) -> Vec<Value> {
    let path = "/v1/audit/events?event_type=permission_change";
    eventually(DEADLINE, "the trail has it", async || {
        let page = owner.get_json(path).await;
        let events = page["data"].as_array().expect("data").iter();
        let is_ours = |event: &&Value| {
            let action = event["action"].as_str();
            action.is_some_and(|action| action.starts_with("log."))
        };
        let events: Vec<Value> = events.filter(is_ours).cloned().collect();
        (events.len() == count).then_some(events)
    })
    .await
}

#[tokio::test]
async fn a_log_that_an_owner_makes_public_is_checked_by_anybody_until_it_is_private_again() {
    let folder = TestFolder::create().expect("a folder");
    let town = Town::with(kept_in(&folder));
    let _index = town.deployment.serve("index");
    let owner = town.owner().await;
    let admin = town.invited(&owner, "admin").await;
    let customer = owner.key(&["events:write", "events:read"]).await;
    send(&customer, 300).await;
    let auditor = Auditor::of(&customer).await;
    auditor.checkpoint(300).await;

    let private = ok(customer.get("/v1/log").await).await;
    assert_eq!(private["public"], false, "{private}");
    assert!(private["public_url"].is_null(), "{private}");
    let origin = private["origin"].as_str().expect("a name").to_owned();
    let (_, org) = origin.split_once('/').expect("an organization");
    let passerby = Passerby {
        http: customer.http.clone(),
        prefix: format!("{}/v1/public-logs/{org}", customer.base_url),
    };
    passerby.is_turned_away().await;
    problem(admin.patch("/v1/log", &json!({"public": true})).await, 403).await;
    passerby.is_turned_away().await;

    for _ in 0..2 {
        let public = ok(owner.patch("/v1/log", &json!({"public": true})).await).await;
        assert_eq!(public["public"], true, "{public}");
        let url = public["public_url"].as_str().expect("an address");
        assert!(url.ends_with(&format!("/v1/public-logs/{org}")), "{url}");
    }
    let keys: Value = serde_json::from_str(&passerby.text("keys").await).expect("JSON");
    assert_eq!(keys["origin"], origin.as_str());
    let key: VerifierKey = keys["keys"][0]["verifier"]
        .as_str()
        .and_then(|key| key.parse().ok())
        .expect("a key");
    let checkpoint = SignedCheckpoint::parse(&passerby.text("checkpoint").await);
    let checkpoint = checkpoint.expect("a checkpoint");
    let checkpoint = checkpoint.verify(&origin, &[key]).expect("signed");
    let (mut edge, mut number) = (Edge::new(), 0);
    while let Some(bundle) = Bundle::in_tree(number, checkpoint.size()) {
        let answer = passerby.get(&bundle.to_string()).await;
        assert_eq!(answer.status(), StatusCode::OK, "{bundle}");
        let caching = &answer.headers()[header::CACHE_CONTROL];
        assert!(caching.to_str().expect("a text").contains("immutable"));
        for entry in bundle::decode(&answer.bytes().await.expect("a body")).expect("a bundle") {
            edge.append(Hash::of_leaf(entry)).expect("room");
        }
        number += 1;
    }
    assert_eq!(edge.root(), *checkpoint.root(), "all of it is there");
    let shown = passerby.get("checkpoint").await;
    assert_eq!(shown.headers()[header::CACHE_CONTROL], "no-store");
    // Nothing but the log.
    let url = format!("{}/v1/audit/events", customer.base_url);
    let events = passerby.http.get(url).send().await.expect("an answer");
    assert_eq!(events.status(), StatusCode::UNAUTHORIZED);

    ok(owner.patch("/v1/log", &json!({"public": false})).await).await;
    passerby.is_turned_away().await;
    let actions = told(&owner, 2).await;
    assert_eq!(actions[0]["action"], "log.withdraw");
    assert_eq!(actions[1]["action"], "log.publish");
    let (owner_id, _) = owner.ids().await;
    assert_eq!(actions[1]["agent_id"], owner_id.as_str());
}

#[tokio::test]
async fn an_organization_that_is_not_there_looks_like_one_whose_log_is_private() {
    let folder = TestFolder::create().expect("a folder");
    let town = Town::with(kept_in(&folder));
    let owner = town.owner().await;
    problem(owner.patch("/v1/log", &json!({"public": true})).await, 404).await;
    let _index = town.deployment.serve("index");
    let customer = owner.key(&["events:write", "events:read"]).await;
    send(&customer, 1).await;
    Auditor::of(&customer).await.checkpoint(1).await;
    let (_, org) = owner.ids().await;
    let mut answers = HashSet::new();
    for org in [org.as_str(), "org_01jcq3k5m8e9ratvw2x4y6z8ab", "nobody"] {
        let passerby = Passerby {
            http: customer.http.clone(),
            prefix: format!("{}/v1/public-logs/{org}", customer.base_url),
        };
        passerby.is_turned_away().await;
        let mut answer = problem(passerby.get("checkpoint").await, 404).await;
        // Where it was asked, and which request it was.
        for differs in ["instance", "request_id"] {
            answer.as_object_mut().expect("a problem").remove(differs);
        }
        answers.insert(answer.to_string());
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
}
