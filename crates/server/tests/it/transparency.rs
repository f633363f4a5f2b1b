//! The trail proves itself: every event and every delivery attempt is in a log that only grows, and whoever has its checkpoint
//! can check that without us.

use std::collections::HashMap;

use domain::{AttemptId, EventId};
use reqwest::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testkit::{Receiver, eventually, folder::TestFolder};
use trail_proof::leaf::{Commitment, Kind, Leaf, Salt};
use transparency_log::{
    Bundle, Checkpoint, Edge, Hash, SignedCheckpoint, TlogProof, VerifierKey, bundle, tiles,
};

use crate::commands::run;
use crate::dead_letters::REFUSE_POISON;
use crate::deployment::{Customer, DEADLINE, Deployment, event, ok};
use crate::secrets::SEALING_KEY;

/// A deployment whose files are in a folder.
pub(crate) fn kept_in(folder: &TestFolder) -> Deployment {
    let url = format!("file://{}", folder.path().join("files").display());
    Deployment::new()
        .with("FILES__URL", &url)
        .with("SECRETS__KEY", SEALING_KEY)
}

pub(crate) async fn send(customer: &Customer, count: usize) -> Vec<String> {
    let batch: Vec<Value> = (0..count)
        .map(|one| event(&format!("agent-{one}")))
        .collect();
    let answer = customer
        .post("/v1/audit/events", &json!({"events": batch}))
        .await;
    let answer = ok(answer).await;
    let events = answer["events"].as_array().expect("events").iter();
    events
        .map(|event| event["id"].as_str().expect("an id").to_owned())
        .collect()
}

/// What an auditor has of a log: its name and keys.
pub(crate) struct Auditor<'c> {
    customer: &'c Customer,
    origin: String,
    keys: Vec<VerifierKey>,
}

impl<'c> Auditor<'c> {
    pub(crate) async fn of(customer: &'c Customer) -> Self {
        let log = eventually(DEADLINE, "there is a log", async || {
            let answer = customer.get("/v1/log/keys").await;
            (answer.status() == StatusCode::OK).then_some(answer)
        })
        .await;
        let log = ok(log).await;
        let keys = log["keys"].as_array().expect("keys").iter();
        let key = |key: &Value| key["verifier"].as_str()?.parse().ok();
        Self {
            customer,
            origin: log["origin"].as_str().expect("an origin").to_owned(),
            keys: keys.map(|one| key(one).expect("a key")).collect(),
        }
    }

    /// The log's key, as a verifier takes it.
    pub(crate) fn key(&self) -> String {
        self.keys[0].to_string()
    }

    async fn bytes(&self, path: &str) -> Vec<u8> {
        let answer = self.customer.get(path).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        answer.bytes().await.expect("a body").to_vec()
    }

    /// The newest checkpoint, once it has so many leaves.
    pub(crate) async fn checkpoint(&self, leaves: u64) -> Checkpoint {
        let what = format!("a checkpoint of {leaves} leaves");
        eventually(DEADLINE, &what, async || {
            let note = self.bytes("/v1/log/checkpoint").await;
            let note = SignedCheckpoint::parse(str::from_utf8(&note).expect("a text"))
                .expect("a checkpoint");
            let checkpoint = note.verify(&self.origin, &self.keys).expect("signed");
            (checkpoint.size() >= leaves).then(|| checkpoint.clone())
        })
        .await
    }

    /// All leaves of the tree of a checkpoint, whose root they must have.
    pub(crate) async fn leaves(&self, checkpoint: &Checkpoint) -> Vec<Leaf> {
        let mut edge = Edge::new();
        let mut leaves = Vec::new();
        let mut number = 0;
        while let Some(bundle) = Bundle::in_tree(number, checkpoint.size()) {
            let bytes = self.bytes(&format!("/v1/log/{bundle}")).await;
            for entry in bundle::decode(&bytes).expect("a bundle") {
                edge.append(Hash::of_leaf(entry)).expect("room");
                leaves.push(Leaf::decode(entry).expect("a leaf"));
            }
            number += 1;
        }
        assert_eq!(
            edge.root(),
            *checkpoint.root(),
            "what is shown is what was signed"
        );
        leaves
    }

    /// The event's leaf, made from what the server shows of it and proven by its proof.
    async fn prove(&self, id: &str) -> u64 {
        let stored = self.bytes(&format!("/v1/audit/events/{id}")).await;
        let proof = self.bytes(&format!("/v1/audit/events/{id}/proof")).await;
        let proof = TlogProof::parse(str::from_utf8(&proof).expect("a text")).expect("a proof");
        let salt = salt_of(&proof);
        let event: Value = serde_json::from_slice(&stored).expect("JSON");
        let time = |name: &str| millis(event[name].as_str().expect("a time"));
        let leaf = Leaf {
            kind: Kind::Event,
            id: id.parse::<EventId>().expect("an id").uuid().into_bytes(),
            occurred_ms: time("occurred_at"),
            received_ms: time("received_at"),
            commitment: Commitment::to(salt, &stored),
        };
        let leaf = Hash::of_leaf(&leaf.encode());
        let proven = proof.verify(&leaf, &self.origin, &self.keys, &[]);
        proven.expect("proven").index
    }
}

#[tokio::test]
async fn every_event_is_a_leaf_and_proves_itself() {
    let folder = TestFolder::create().expect("a folder");
    let deployment = kept_in(&folder);
    let mut server = deployment.serve("api,index");
    let customer = deployment.customer(&mut server);
    let mut sent = send(&customer, 600).await;
    let auditor = Auditor::of(&customer).await;
    auditor.checkpoint(600).await;
    sent.extend(send(&customer, 5).await);
    let checkpoint = auditor.checkpoint(sent.len() as u64).await;
    let leaves = auditor.leaves(&checkpoint).await;
    let mut indexes: HashMap<[u8; 16], Vec<usize>> = HashMap::new();
    for (index, leaf) in leaves.iter().enumerate() {
        indexes.entry(leaf.id).or_default().push(index);
    }
    for id in &sent {
        let uuid = id.parse::<EventId>().expect("an id").uuid();
        let found = indexes.get(uuid.as_bytes());
        assert_eq!(found.map(Vec::len), Some(1), "{id} is a leaf, once");
    }
    for id in [&sent[0], &sent[255], &sent[256], &sent[599], &sent[604]] {
        let index = auditor.prove(id).await;
        let uuid = id.parse::<EventId>().expect("an id").uuid();
        assert_eq!(
            indexes[uuid.as_bytes()],
            [usize::try_from(index).expect("small")]
        );
    }
}

#[tokio::test]
async fn tiles_are_those_of_the_tree() {
    let folder = TestFolder::create().expect("a folder");
    let deployment = kept_in(&folder);
    let mut server = deployment.serve("api,index");
    let customer = deployment.customer(&mut server);
    send(&customer, 300).await;
    let auditor = Auditor::of(&customer).await;
    let checkpoint = auditor.checkpoint(300).await;
    let leaves = auditor.leaves(&checkpoint).await;
    let mut nodes = HashMap::new();
    let mut edge = Edge::new();
    for leaf in &leaves {
        let hash = Hash::of_leaf(&leaf.encode());
        let noted = edge.append_each(hash, |node, hash| {
            nodes.insert(node, *hash);
        });
        noted.expect("room");
    }
    for tile in tiles(checkpoint.size()).expect("a size") {
        let bytes = auditor.bytes(&format!("/v1/log/{tile}")).await;
        let hashes = tile.decode(&bytes).expect("a tile");
        for (hash, node) in hashes.iter().zip(tile.nodes()) {
            assert_eq!(nodes.get(&node), Some(hash), "{tile} {node:?}");
        }
    }
    for nothing in [
        "tile/0/500",
        "tile/5/000",
        "tile/0/0",
        "tile/entries/x001/000",
    ] {
        let answer = customer.get(&format!("/v1/log/{nothing}")).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{nothing}");
    }
}

#[tokio::test]
async fn every_attempt_to_deliver_an_alert_is_a_leaf_and_proves_itself() {
    let folder = TestFolder::create().expect("a folder");
    let deployment = kept_in(&folder);
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    customer.rule(json!({}), &receiver.url()).await;
    customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let delivery = received[0].delivery_id().expect("an id").to_owned();
    customer.delivery_in_state(&delivery, "delivered").await;
    let auditor = Auditor::of(&customer).await;
    let path = format!("/v1/deliveries/{delivery}/proof");
    let attempt = eventually(DEADLINE, "the attempt is in the log", async || {
        let answer = customer.get_json(&path).await;
        let attempt = answer["attempts"][0].clone();
        attempt["proof"].is_string().then_some(attempt)
    })
    .await;
    let text = |name: &str| attempt[name].as_str().expect("a text").to_owned();
    let proof = TlogProof::parse(&text("proof")).expect("a proof");
    let statement: Value = serde_json::from_str(&text("statement")).expect("JSON");
    assert_eq!(statement["delivery_id"], delivery.as_str());
    assert_eq!(statement["status"], 200);
    let sent = hex::encode(Sha256::digest(&received[0].body));
    assert_eq!(statement["body_sha256"], sent, "it says what was sent");
    let leaf = |statement: &str| Leaf {
        kind: Kind::Attempt,
        id: text("id")
            .parse::<AttemptId>()
            .expect("an id")
            .uuid()
            .into_bytes(),
        occurred_ms: millis(&statement_time(statement, "started_at")),
        received_ms: millis(&statement_time(statement, "finished_at")),
        commitment: Commitment::to(salt_of(&proof), statement.as_bytes()),
    };
    let proven = |statement: &str| {
        let leaf = Hash::of_leaf(&leaf(statement).encode());
        proof
            .verify(&leaf, &auditor.origin, &auditor.keys, &[])
            .is_ok()
    };
    assert!(proven(&text("statement")));
    let claimed = text("statement").replace("200", "500");
    assert!(!proven(&claimed), "another answer than the receiver's");
}

#[tokio::test]
async fn a_record_that_was_put_aside_is_a_leaf_once_it_is_redriven() {
    let folder = TestFolder::create().expect("a folder");
    let deployment = kept_in(&folder);
    let mut server = deployment.serve("api,index");
    let customer = deployment.customer(&mut server);
    deployment.sql(REFUSE_POISON);
    let id = customer.ingest(&event("poison")).await;
    server.wait_for_line(DEADLINE, |line| {
        line.contains(&id) && line.contains("ERROR")
    });
    deployment.sql("ALTER TABLE audit_events DROP CONSTRAINT no_poison");
    let redriven = run(
        &["dead-letters", "redrive", "--all"],
        deployment.variables(),
    );
    assert!(redriven.status.success(), "{redriven:?}");
    let auditor = Auditor::of(&customer).await;
    let path = format!("/v1/audit/events/{id}/proof");
    eventually(DEADLINE, "it is in the log", async || {
        customer.get(&path).await.status() == StatusCode::OK
    })
    .await;
    auditor.prove(&id).await;
}

fn salt_of(proof: &TlogProof) -> Salt {
    Salt(proof.extra().expect("a salt").try_into().expect("16 bytes"))
}

fn millis(at: &str) -> i64 {
    domain::Timestamp::parse(at).expect("a time").unix_millis()
}

fn statement_time(statement: &str, name: &str) -> String {
    let statement: Value = serde_json::from_str(statement).expect("JSON");
    statement[name].as_str().expect("a time").to_owned()
}
