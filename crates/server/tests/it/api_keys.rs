//! API keys from their making to their end, on every node.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::eventually;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::deployment::{Customer, DEADLINE, Deployment, event, http, ok};
use crate::errors::problem;
use crate::people::{Person, Town};

/// The promise: a key that was revoked is refused everywhere within this.
const REVOKED_WITHIN: Duration = Duration::from_secs(1);

pub(crate) fn with_key(base_url: &str, made: &Value) -> Customer {
    Customer {
        http: http(),
        base_url: base_url.to_owned(),
        api_key: made["api_key"].as_str().expect("a key").to_owned(),
    }
}

pub(crate) async fn make(person: &Person, wanted: &Value) -> Value {
    ok(person.post("/v1/api-keys", wanted).await).await
}

fn id(key: &Value) -> String {
    key["id"].as_str().expect("an id").to_owned()
}

async fn status_of(customer: &Customer) -> u16 {
    customer
        .get("/v1/audit/events?limit=1")
        .await
        .status()
        .as_u16()
}

#[tokio::test]
async fn a_key_is_shown_once_works_at_once_and_is_kept_as_a_hash() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index");
    let base_url = server.url(DEADLINE);
    let person = Person::founder(&base_url).await;
    let wanted = json!({"name": "billing agent", "scopes": ["events:read", "events:read"]});
    let made = make(&person, &wanted).await;
    let text = made["api_key"].as_str().expect("a key").to_owned();
    assert!(text.starts_with("wb_live_") && text.len() == 46, "{text}");
    assert_eq!(made["hint"], text[text.len() - 4..]);
    assert_eq!(made["scopes"], json!(["events:read"]));
    assert_eq!(made["created_by"], person.ids().await.0);
    assert_eq!(status_of(&with_key(&base_url, &made)).await, 200);

    let shown = person
        .get_json(&format!("/v1/api-keys/{}", id(&made)))
        .await;
    let listed = person.get_json("/v1/api-keys").await;
    assert_eq!(listed["data"], json!([shown]));
    for answer in [&shown, &listed] {
        assert!(!answer.to_string().contains(&text), "shown once only");
    }
    let stored = deployment.sql("SELECT * FROM api_keys");
    assert!(stored.contains("billing agent") && !stored.contains(&text[8..20]));
}

#[tokio::test]
async fn a_key_that_is_not_valid_is_told_all_that_is_wrong_with_it() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api");
    let person = Person::founder(&server.url(DEADLINE)).await;
    let wrong = json!({"name": " ", "scopes": ["events:read", "fly"], "expires_at": "2020-01-01T00:00:00Z"});
    let problem = problem(person.post("/v1/api-keys", &wrong).await, 422).await;
    let pointers: Vec<&str> = problem["errors"]
        .as_array()
        .expect("errors")
        .iter()
        .filter_map(|error| error["pointer"].as_str())
        .collect();
    assert_eq!(pointers, ["/name", "/expires_at", "/scopes/1"]);
    let none = json!({"name": "None", "scopes": []});
    assert_eq!(person.post("/v1/api-keys", &none).await.status(), 422);
    assert_eq!(person.get_json("/v1/api-keys").await["data"], json!([]));
}

#[tokio::test]
async fn a_revoked_key_is_refused_on_every_node_within_a_second() {
    let deployment = Deployment::new();
    let mut servers: Vec<_> = (0..3).map(|_| deployment.serve("api,index")).collect();
    let urls: Vec<String> = servers
        .iter_mut()
        .map(|server| server.url(DEADLINE))
        .collect();
    let person = Person::founder(&urls[0]).await;
    let mut slowest = Duration::ZERO;
    for _ in 0..10 {
        let made = make(
            &person,
            &json!({"name": "Leaked", "scopes": ["events:read"]}),
        )
        .await;
        let everywhere: Vec<Customer> = urls.iter().map(|url| with_key(url, &made)).collect();
        for customer in &everywhere {
            assert_eq!(
                status_of(customer).await,
                200,
                "a node that never met it serves it"
            );
        }
        let revoked = person.delete(&format!("/v1/api-keys/{}", id(&made))).await;
        assert_eq!(revoked.status(), StatusCode::NO_CONTENT);
        let started = Instant::now();
        for customer in &everywhere {
            eventually(REVOKED_WITHIN, "the key is refused", async || {
                status_of(customer).await == 401
            })
            .await;
        }
        slowest = slowest.max(started.elapsed());
    }
    println!("the slowest of 10 revocations was known to 3 nodes after {slowest:?}");
}

#[tokio::test]
async fn a_key_that_is_revoked_while_it_is_used_is_never_taken_for_good_again() {
    let deployment = Deployment::new();
    let mut servers: Vec<_> = (0..2).map(|_| deployment.serve("api,index")).collect();
    let urls: Vec<String> = servers
        .iter_mut()
        .map(|server| server.url(DEADLINE))
        .collect();
    let person = Person::founder(&urls[0]).await;
    for _ in 0..10 {
        let made = make(
            &person,
            &json!({"name": "Raced", "scopes": ["events:read"]}),
        )
        .await;
        let key = with_key(&urls[1], &made);
        // Nobody has met the key: it is looked up in the moment it goes.
        let asked = futures::future::join_all((0..8).map(|_| status_of(&key)));
        let path = format!("/v1/api-keys/{}", id(&made));
        let revoked = person.delete(&path);
        let (_, revoked) = futures::join!(asked, revoked);
        assert_eq!(revoked.status(), StatusCode::NO_CONTENT);
        eventually(REVOKED_WITHIN, "the key is refused", async || {
            status_of(&key).await == 401
        })
        .await;
        for _ in 0..5 {
            assert_eq!(status_of(&key).await, 401, "and stays refused");
        }
    }
}

#[tokio::test]
async fn a_rotated_key_goes_on_for_the_overlap_and_no_longer() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index");
    let base_url = server.url(DEADLINE);
    let person = Person::founder(&base_url).await;
    let old = make(
        &person,
        &json!({"name": "Agent", "scopes": ["events:read"]}),
    )
    .await;
    let path = format!("/v1/api-keys/{}", id(&old));
    let rotate = format!("{path}/rotate");
    let new = ok(person.post(&rotate, &json!({"overlap_s": 2})).await).await;
    assert_ne!(new["api_key"], old["api_key"]);
    assert_eq!(
        (&new["name"], &new["scopes"]),
        (&old["name"], &old["scopes"])
    );
    assert_eq!(new["expires_at"], Value::Null, "only the old one ends");
    let (old_key, new_key) = (with_key(&base_url, &old), with_key(&base_url, &new));
    assert_eq!(status_of(&new_key).await, 200);
    assert_eq!(
        status_of(&old_key).await,
        200,
        "both work during the overlap"
    );
    eventually(DEADLINE, "the overlap ends", async || {
        status_of(&old_key).await == 401
    })
    .await;
    assert_eq!(status_of(&new_key).await, 200);
    assert_ne!(person.get_json(&path).await["expires_at"], Value::Null);

    let again = person.post(&rotate, &json!({"overlap_s": 2})).await;
    let answer = problem(again, 409).await;
    let detail = answer["detail"].as_str().expect("a text");
    assert!(
        detail.contains(&id(&new)),
        "it names the successor: {detail}"
    );
    let long = format!("/v1/api-keys/{}/rotate", id(&new));
    let too_long = person.post(&long, &json!({"overlap_s": 3_000_000})).await;
    assert_eq!(too_long.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let at_once = ok(person.post(&long, &json!({"overlap_s": 0})).await).await;
    eventually(
        REVOKED_WITHIN,
        "without overlap it ends at once",
        async || status_of(&new_key).await == 401,
    )
    .await;
    assert_eq!(status_of(&with_key(&base_url, &at_once)).await, 200);
}

#[tokio::test]
async fn of_rotations_at_the_same_moment_one_counts_and_the_others_are_told() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index");
    let base_url = server.url(DEADLINE);
    let person = Person::founder(&base_url).await;
    for _ in 0..10 {
        let old = make(
            &person,
            &json!({"name": "Leaked", "scopes": ["events:read"]}),
        )
        .await;
        let rotate = format!("/v1/api-keys/{}/rotate", id(&old));
        let (day, at_once) = (json!({"overlap_s": 86_400}), json!({"overlap_s": 0}));
        let (one, ended, other) = futures::join!(
            person.post(&rotate, &day),
            person.post(&rotate, &at_once),
            person.post(&rotate, &day),
        );
        let made = [&one, &ended, &other].map(reqwest::Response::status);
        let count = |status| made.iter().filter(|one| **one == status).count();
        assert_eq!(count(StatusCode::CREATED), 1, "{made:?}");
        assert_eq!(count(StatusCode::CONFLICT), 2, "{made:?}");
        if ended.status() == StatusCode::CREATED {
            let old = with_key(&base_url, &old);
            eventually(
                REVOKED_WITHIN,
                "what was ended at once has ended",
                async || status_of(&old).await == 401,
            )
            .await;
        }
    }
}

#[tokio::test]
async fn who_is_removed_while_their_request_is_on_its_way_makes_no_key() {
    let town = Town::start();
    let ann = town.owner().await;
    let bob = town.invited(&ann, "admin").await;
    let body = json!({"name": "Mine", "scopes": ["events:read"]}).to_string();
    let host = town.base_url.trim_start_matches("http://");
    let head = format!(
        "POST /v1/api-keys HTTP/1.1\r\nhost: {host}\r\ncookie: {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n",
        bob.cookie.as_ref().expect("logged in"),
        body.len(),
    );
    let mut stream = TcpStream::connect(host).await.expect("a connection");
    stream.write_all(head.as_bytes()).await.expect("sent");
    // The server asks for the body once it knows who is there.
    let mut asked = [0; 25];
    stream.read_exact(&mut asked).await.expect("100 Continue");
    let (bob_id, _) = bob.ids().await;
    let removed = ann.delete(&format!("/v1/members/{bob_id}")).await;
    assert_eq!(removed.status(), StatusCode::NO_CONTENT);
    stream.write_all(body.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert_eq!(ann.get_json("/v1/api-keys").await["data"], json!([]));
}

#[tokio::test]
async fn who_is_removed_leaves_no_key_behind_unless_it_is_asked_for() {
    let town = Town::start();
    let ann = town.owner().await;
    let wanted = json!({"name": "Theirs", "scopes": ["rules:read"]});
    let is_taken = async |key: &Customer| key.get("/v1/alert-rules").await.status() == 200;
    let mine = with_key(&town.base_url, &make(&ann, &wanted).await);
    for (query, keys_end) in [
        ("", true),
        ("?keep_keys=false", true),
        ("?keep_keys=true", false),
    ] {
        let bob = town.invited(&ann, "admin").await;
        let (bob_id, _) = bob.ids().await;
        let made = make(&bob, &wanted).await;
        let over = make(&bob, &wanted).await;
        bob.delete(&format!("/v1/api-keys/{}", id(&over))).await;
        let theirs = with_key(&town.base_url, &made);
        let members = ann.get_json("/v1/members").await;
        let of_bob = &members["data"][0];
        assert_eq!(of_bob["id"], bob_id.as_str());
        assert_eq!(of_bob["api_keys"], 1, "one that works");
        assert_eq!(members["data"][1]["api_keys"], 1, "{members}");

        let member = format!("/v1/members/{bob_id}{query}");
        assert_eq!(ann.delete(&member).await.status(), 204, "{query}");
        if keys_end {
            let end = async || !is_taken(&theirs).await;
            eventually(DEADLINE, "the key is refused", end).await;
        }
        let shown = format!("/v1/api-keys/{}", id(&made));
        let revoked_at = &ann.get_json(&shown).await["revoked_at"];
        assert_eq!(revoked_at.is_null(), !keys_end, "{query}");
        assert_eq!(is_taken(&theirs).await, !keys_end, "{query}");
        assert!(is_taken(&mine).await, "hers are left alone");
    }
    // Who leaves cannot leave a key behind that they know.
    let bob = town.invited(&ann, "admin").await;
    let (bob_id, _) = bob.ids().await;
    let theirs = with_key(&town.base_url, &make(&bob, &wanted).await);
    let member = format!("/v1/members/{bob_id}");
    let kept = bob.delete(&format!("{member}?keep_keys=true")).await;
    assert_eq!(problem(kept, 403).await["code"], "FORBIDDEN");
    assert!(is_taken(&theirs).await);
    assert_eq!(bob.delete(&member).await.status(), 204);
    eventually(DEADLINE, "the key of who left is refused", async || {
        !is_taken(&theirs).await
    })
    .await;

    let misspelled = "/v1/members/usr_01jcq3k5m8e9ratvw2x4y6z8ab?keep_key=true";
    problem(ann.delete(misspelled).await, 400).await;
    let unclear = "/v1/members/usr_01jcq3k5m8e9ratvw2x4y6z8ab?keep_keys=yes";
    problem(ann.delete(unclear).await, 400).await;
}

#[tokio::test]
async fn a_key_ends_when_it_says_so() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index");
    let base_url = server.url(DEADLINE);
    let person = Person::founder(&base_url).await;
    let soon =
        "to_char(now() AT TIME ZONE 'utc' + interval '2 s', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')";
    let soon = deployment.sql(&format!("SELECT {soon}"));
    let wanted = json!({"name": "Short", "scopes": ["events:read"], "expires_at": soon});
    let key = with_key(&base_url, &make(&person, &wanted).await);
    assert_eq!(status_of(&key).await, 200);
    eventually(DEADLINE, "it ends", async || status_of(&key).await == 401).await;
    let answer = problem(key.get("/v1/audit/events").await, 401).await;
    assert!(
        answer["detail"]
            .as_str()
            .is_some_and(|text| text.contains("expired"))
    );
}

#[tokio::test]
async fn the_last_use_of_a_key_is_noted_without_anybody_waiting_for_it() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index");
    let base_url = server.url(DEADLINE);
    let person = Person::founder(&base_url).await;
    let wanted = json!({"name": "Used", "scopes": ["events:write"]});
    let (used, idle) = (make(&person, &wanted).await, make(&person, &wanted).await);
    let key = with_key(&base_url, &used);
    for _ in 0..20 {
        key.ingest(&event("agent")).await;
    }
    let path = format!("/v1/api-keys/{}", id(&used));
    eventually(DEADLINE, "the use is noted", async || {
        let shown = person.get_json(&path).await;
        shown["last_used_at"].is_string()
    })
    .await;
    let idle = person
        .get_json(&format!("/v1/api-keys/{}", id(&idle)))
        .await;
    assert_eq!(idle["last_used_at"], Value::Null);

    key.ingest(&event("agent")).await;
    let noted = person.get_json(&path).await["last_used_at"].clone();
    server.terminate(DEADLINE);
    let later = deployment.sql("SELECT max(last_used_at) > min(created_at) FROM api_keys");
    assert!(later.contains('t'), "{later}");
    let since = noted.as_str().expect("a time");
    let later = deployment.sql(&format!(
        "SELECT max(last_used_at) > '{since}' FROM api_keys"
    ));
    assert!(
        later.contains('t'),
        "the last use before the end is noted too: {later}"
    );
}
