//! Views: a search under a name, for oneself or for everybody in the organization.

use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::eventually;

use crate::deployment::{DEADLINE, ok};
use crate::errors::{pointers, problem};
use crate::people::{Person, Town};

const VIEWS: &str = "/v1/views";

fn denied(name: &str) -> Value {
    let search = json!({"filter": ["result:denied"], "last": ["7d"]});
    json!({"list": "events", "name": name, "search": search})
}

fn shared(name: &str) -> Value {
    let mut view = denied(name);
    view["shared"] = json!(true);
    view
}

async fn save(person: &Person, view: &Value) -> Value {
    ok(person.post(VIEWS, view).await).await
}

/// The names of the views that somebody has, in their order.
async fn names(person: &Person) -> Vec<String> {
    let views = person.get_json(VIEWS).await;
    let views = views["data"].as_array().expect("data").clone();
    let name = |view: &Value| view["name"].as_str().expect("a name").to_owned();
    views.iter().map(name).collect()
}

fn path(view: &Value) -> String {
    format!("{VIEWS}/{}", view["id"].as_str().expect("an id"))
}

#[tokio::test]
async fn a_view_is_ones_own_until_somebody_who_manages_shares_one_with_all() {
    let town = Town::start();
    let (ann, eve) = (town.owner().await, town.owner().await);
    let bob = town.invited(&ann, "viewer").await;
    let mine = save(&bob, &denied("Denied")).await;
    assert_eq!(mine["search"], denied("")["search"]);
    assert_eq!(mine["shared"], false);
    assert_eq!(mine["created_by"], bob.ids().await.0);
    let ours = save(&ann, &shared("denied, all")).await;
    save(&ann, &denied("Zulu")).await;
    let listed = bob.get_json(VIEWS).await;
    assert_eq!(listed["data"], json!([mine, ours]), "by name");
    assert_eq!(names(&ann).await, ["denied, all", "Zulu"]);
    assert_eq!(names(&eve).await, [""; 0], "another organization");

    let renamed = json!({"name": "Mine"});
    let changed = ok(bob.patch(&path(&mine), &renamed).await).await;
    assert_eq!(changed["name"], "Mine");
    assert_eq!(changed["search"], mine["search"]);
    let narrowed = json!({"search": {"result": ["denied", "error"]}});
    let changed = ok(bob.patch(&path(&mine), &narrowed).await).await;
    assert_eq!(changed["name"], "Mine");
    assert_eq!(changed["search"], narrowed["search"]);
    assert_eq!(bob.get_json(VIEWS).await["data"][1], changed);

    for refused in [
        bob.post(VIEWS, &shared("Not by me")).await,
        bob.patch(&path(&ours), &renamed).await,
        bob.delete(&path(&ours)).await,
    ] {
        let problem = problem(refused, 403).await;
        let detail = problem["detail"].as_str().expect("a text");
        assert!(detail.contains("admins and owners"), "{detail}");
    }
    // What somebody keeps for themselves is not there for others, whatever their role.
    problem(ann.patch(&path(&mine), &renamed).await, 404).await;
    problem(ann.delete(&path(&mine)).await, 404).await;
    for view in [&mine, &ours] {
        let by = if view["shared"] == true { &ann } else { &bob };
        let deleted = by.delete(&path(view)).await;
        assert_eq!(deleted.status(), StatusCode::NO_CONTENT);
        problem(by.delete(&path(view)).await, 404).await;
    }
    assert_eq!(names(&bob).await, [""; 0]);
}

#[tokio::test]
async fn a_name_is_there_once_and_what_cannot_be_searched_is_refused() {
    let town = Town::start();
    let ann = town.owner().await;
    save(&ann, &denied("Denied")).await;
    save(&ann, &shared("Denied")).await;
    let mut elsewhere = denied("Denied");
    elsewhere["list"] = json!("decisions");
    save(&ann, &elsewhere).await;
    let other = save(&ann, &denied("Other")).await;
    let taken = json!({"name": "Denied"});
    for refused in [
        ann.post(VIEWS, &denied("Denied")).await,
        ann.post(VIEWS, &shared("Denied")).await,
        ann.patch(&path(&other), &taken).await,
    ] {
        assert_eq!(pointers(&problem(refused, 422).await), ["/name"]);
    }
    ok(ann.patch(&path(&other), &json!({"name": "Other"})).await).await;

    let wrong = json!({
        "list": "deliveries", "name": " ", "search": {"filter": ["sate:failed"], "severity": ["high"]},
    });
    let refused = problem(ann.post(VIEWS, &wrong).await, 422).await;
    let wanted = ["/name", "/search/filter/0", "/search/severity"];
    assert_eq!(pointers(&refused), wanted);
    let query = &refused["errors"][1];
    assert_eq!(
        (&query["start"], &query["instead"]),
        (&json!(0), &json!("state"))
    );
    // The list that it is changed in is the one it was saved for.
    let wrong = json!({"search": {"state": ["failed"]}});
    let refused = problem(ann.patch(&path(&other), &wrong).await, 422).await;
    assert_eq!(pointers(&refused), ["/search/state"]);
}

#[tokio::test]
async fn there_is_room_for_a_hundred_of_each_and_a_person_takes_their_own_with_them() {
    let town = Town::start();
    let ann = town.owner().await;
    let bob = town.invited(&ann, "admin").await;
    let (bob_id, org) = bob.ids().await;
    let [bob_uuid, org] = [
        bob_id.parse::<domain::UserId>().expect("an id").uuid(),
        org.parse::<domain::OrgId>().expect("an id").uuid(),
    ];
    let kept_by_bob = save(&bob, &shared("Bob's, for all")).await;
    // One after the other would take as many requests as a person may send in a minute.
    town.deployment.sql(&format!(
        "INSERT INTO views (org_id, id, user_id, list, name, search, created_by, created_at, updated_at)
         SELECT '{org}', gen_random_uuid(), '{bob_uuid}', 'events', 'View ' || number, '{{}}', '{bob_uuid}', now(), now()
         FROM generate_series(1, 100) AS number"
    ));
    let refused = problem(bob.post(VIEWS, &denied("One more")).await, 409).await;
    assert_eq!(refused["code"], "LIMIT_REACHED");
    save(&bob, &shared("Another for all")).await;
    save(&ann, &denied("Ann's")).await;
    assert_eq!(names(&bob).await.len(), 102);

    let removed = ann.delete(&format!("/v1/members/{bob_id}")).await;
    assert_eq!(removed.status(), StatusCode::NO_CONTENT);
    assert_eq!(
        names(&ann).await,
        ["Ann's", "Another for all", "Bob's, for all"]
    );
    let left = town.deployment.sql("SELECT count(*) FROM views");
    assert_eq!(left.trim(), "3");
    ok(ann.patch(&path(&kept_by_bob), &denied_search()).await).await;
}

fn denied_search() -> Value {
    json!({"search": denied("")["search"]})
}

#[tokio::test]
async fn the_trail_is_told_what_becomes_of_shared_views_and_nothing_of_ones_own() {
    let town = Town::start();
    let _index = town.deployment.serve("index");
    let ann = town.owner().await;
    let (ann_id, _) = ann.ids().await;
    let own = save(&ann, &denied("Mine")).await;
    ok(ann.patch(&path(&own), &json!({"name": "My own"})).await).await;
    let ours = save(&ann, &shared("Ours")).await;
    for name in ["For all", "For all"] {
        ok(ann.patch(&path(&ours), &json!({"name": name})).await).await;
    }
    ann.delete(&path(&own)).await;
    ann.delete(&path(&ours)).await;

    let told = eventually(DEADLINE, "three changes are told", async || {
        let page = ann
            .get_json("/v1/audit/events?event_type=view_change")
            .await;
        let told = page["data"].as_array().expect("data").clone();
        (told.len() == 3).then_some(told).ok_or(page)
    })
    .await;
    let actions: Vec<&str> = told
        .iter()
        .filter_map(|one| one["action"].as_str())
        .collect();
    assert_eq!(actions, ["view.delete", "view.change", "view.share"]);
    for event in &told {
        assert_eq!(event["agent_id"], ann_id.as_str());
        assert_eq!(event["metadata"]["view_id"], ours["id"]);
        assert_eq!(event["metadata"]["list"], "events");
        assert_eq!(event["metadata"]["search"], ours["search"]);
    }
    assert_eq!(told[2]["metadata"]["name"], "Ours");
    assert_eq!(told[1]["metadata"]["name"], "For all");
    assert_eq!(
        told[1]["metadata"]["before"],
        json!({"name": "Ours", "search": ours["search"]})
    );
}
