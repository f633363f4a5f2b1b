//! A deployment whose journal is lost or put back, and the books that must agree afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::folder::TestFolder;
use testkit::{Nats, Own, Received, Receiver, Watchbell, eventually, namespace, own};

use crate::deployment::{Customer, DEADLINE, Deployment, SECRET, event, http, ok};
use crate::people::Person;
use crate::secrets::is_signed;

/// Whose events the rules want.
const AGENT: &str = "agent";
/// What does the work behind the API.
pub(crate) const WORKERS: &str = "index,match,deliver";

/// An organization with a rule, a rule that was deleted, and a key that was revoked; and what it sent.
pub(crate) struct Drill {
    // In this order: processes end before their engines.
    workers: Option<Watchbell>,
    pub(crate) api: Watchbell,
    pub(crate) person: Person,
    pub(crate) customer: Customer,
    pub(crate) revoked: Customer,
    pub(crate) receiver: Receiver,
    pub(crate) rule: String,
    pub(crate) books: Books,
    pub(crate) deployment: Deployment,
    nats: Own<Nats>,
}

/// What was sent and what must have become of it.
#[derive(Default)]
pub(crate) struct Books {
    /// Every event that was accepted, and how often its delivery must arrive.
    pub(crate) arrivals: BTreeMap<String, usize>,
    /// Those that a loss took before anybody had read them.
    pub(crate) lost: BTreeSet<String>,
}

/// How many events are listed, matched and delivered, how many are lost, and how many deliveries arrived once more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) kept: usize,
    pub(crate) lost: usize,
    pub(crate) sent_again: usize,
}

/// The streams as they were.
pub(crate) struct Copy(TestFolder);

impl Drill {
    pub(crate) async fn start() -> Self {
        let nats = own::nats().expect("NATS");
        let deployment = Deployment::on_journal(&nats.url()).with("JOURNAL__PARTITIONS", "1");
        let mut api = deployment.serve("api");
        let person = Person::founder(&api.url(DEADLINE)).await;
        let customer = key(&person).await.0;
        let (revoked, id) = key(&person).await;
        let answer = person.delete(&format!("/v1/api-keys/{id}")).await;
        assert_eq!(answer.status(), StatusCode::NO_CONTENT);
        let receiver = Receiver::start().expect("a receiver");
        let pattern = || json!({"agent_id": [AGENT]});
        let rule = customer.rule(pattern(), &receiver.url()).await;
        let deleted = receiver.url_of("/deleted");
        let deleted = customer.rule(pattern(), &deleted).await;
        customer.delete(&format!("/v1/alert-rules/{deleted}")).await;
        Self {
            workers: None,
            api,
            person,
            customer,
            revoked,
            receiver,
            rule,
            books: Books::default(),
            deployment,
            nats,
        }
    }

    /// Has events accepted, each a message of the journal; their ids.
    pub(crate) async fn accept(&mut self, count: usize) -> Vec<String> {
        let mut ids = Vec::new();
        for _ in 0..count {
            let id = eventually(DEADLINE, "an event is accepted", async || {
                let answer = self.customer.post("/v1/audit/events", &event(AGENT)).await;
                if answer.status() != StatusCode::ACCEPTED {
                    return None;
                }
                let answer: Value = answer.json().await.expect("JSON");
                Some(answer["events"][0]["id"].as_str()?.to_owned())
            })
            .await;
            self.books.arrivals.insert(id.clone(), 1);
            ids.push(id);
        }
        ids
    }

    pub(crate) fn work(&mut self, roles: &str) {
        self.rest();
        self.workers = Some(self.deployment.serve(roles));
    }

    /// As somebody who stops them would, so that nobody waits for what they held.
    pub(crate) fn rest(&mut self) {
        if let Some(mut workers) = self.workers.take() {
            workers.terminate(DEADLINE);
        }
    }

    /// A copy of the database, made while nobody uses it; its address.
    pub(crate) fn back_up(&mut self) -> String {
        self.rest();
        self.api.terminate(DEADLINE);
        let url = self.deployment.setting("POSTGRES__URL");
        let (server, name) = url.rsplit_once('/').expect("an address");
        let copy = namespace();
        self.deployment
            .sql(&format!("CREATE DATABASE {copy} TEMPLATE {name}"));
        let copy = format!("{server}/{copy}");
        self.serve();
        copy
    }

    /// Goes on with a copy of the database.
    pub(crate) fn restore(&mut self, copy: &str) {
        self.rest();
        self.api.terminate(DEADLINE);
        self.deployment.set("POSTGRES__URL", copy);
        self.serve();
    }

    fn serve(&mut self) {
        self.api = self.deployment.serve("api");
        let url = self.api.url(DEADLINE);
        for customer in [&mut self.customer, &mut self.revoked] {
            customer.base_url.clone_from(&url);
        }
        self.person.base_url = url;
    }

    /// A copy of all streams, made while the server is down.
    pub(crate) fn copy(&mut self) -> Copy {
        let folder = TestFolder::create().expect("a folder");
        self.nats.stop();
        copy_all(self.nats.streams(), folder.path().join("streams"));
        self.nats.restart().expect("NATS starts again");
        Copy(folder)
    }

    /// Loses the streams of these names, while the server is down.
    pub(crate) fn lose(&mut self, names: &[&str]) {
        self.nats.stop();
        for stream in self.streams(names) {
            fs::remove_dir_all(stream).expect("removed");
        }
        self.nats.restart().expect("NATS starts again");
    }

    /// Puts the streams of these names back to what they were.
    pub(crate) fn put_back(&mut self, copy: &Copy, names: &[&str]) {
        self.nats.stop();
        let from = copy.0.path().join("streams");
        for stream in self.streams(names) {
            let place = stream.strip_prefix(self.nats.streams()).expect("below it");
            let kept = from.join(place);
            fs::remove_dir_all(&stream).expect("removed");
            if kept.exists() {
                copy_all(kept, stream);
            }
        }
        self.nats.restart().expect("NATS starts again");
    }

    /// Waits until so many are decided on and queued, and the record says so.
    pub(crate) async fn queued(&self, count: usize) {
        let journal = self.deployment.journal().await;
        let partition = journal.partitions().all().next().expect("one");
        eventually(DEADLINE, "all are queued", async || {
            let end = journal.last_judgment(partition).await.ok()??;
            let is_over = end.facts.is_empty() && end.judged.settled + 1 == end.sequence;
            let balance = self.balance().await;
            (is_over && balance["pending"] == count)
                .then_some(())
                .ok_or(balance)
                .ok()
        })
        .await;
    }

    /// Sends again what the queue has lost; how many those are.
    pub(crate) async fn recover_lost(&self) -> u64 {
        let states = ["pending", "scheduled"];
        let mut wanted =
            json!({"since": "2020-01-01T00:00:00Z", "states": states, "dry_run": true});
        let path = format!("/v1/alert-rules/{}/recover", self.rule);
        let counted = ok(self.customer.post(&path, &wanted).await).await;
        wanted["dry_run"] = json!(false);
        ok(self.customer.post(&path, &wanted).await).await;
        counted["count"].as_u64().expect("a number")
    }

    /// The folders of streams whose names have one of these in them.
    fn streams(&self, names: &[&str]) -> Vec<PathBuf> {
        let folder = self.nats.streams().join("jetstream/$G/streams");
        let all = fs::read_dir(folder).expect("streams");
        let found: Vec<PathBuf> = all
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| {
                let name = path.file_name().and_then(|name| name.to_str());
                name.is_some_and(|it| names.iter().any(|name| it.contains(name)))
            })
            .collect();
        assert!(!found.is_empty(), "{names:?}");
        found
    }

    /// Waits until the books agree: listed, matched, delivered, and in balance.
    pub(crate) async fn agrees(&self, what: &str) -> Counts {
        let wanted: BTreeMap<&str, usize> = self.books.wanted();
        eventually(
            DEADLINE,
            &format!("{what}: all are listed once"),
            async || {
                let page = self
                    .customer
                    .get_json(&format!("/v1/audit/events?limit=1000&agent_id={AGENT}"))
                    .await;
                let events = page["data"].as_array().expect("data");
                let listed: Vec<&str> = events.iter().filter_map(|it| it["id"].as_str()).collect();
                let ids: BTreeSet<&str> = listed.iter().copied().collect();
                let is_all = page["fresh"] == true && ids == wanted.keys().copied().collect();
                if is_all && listed.len() == wanted.len() {
                    Ok(())
                } else {
                    Err(listed.len())
                }
            },
        )
        .await;
        self.arrive(what).await;
        eventually(
            DEADLINE,
            &format!("{what}: all are in balance"),
            async || {
                let balance = self.balance().await;
                let is_all = |field: &str| balance[field] == wanted.len();
                if balance["balanced"] == true && is_all("matched") && is_all("delivered") {
                    Ok(())
                } else {
                    Err(balance)
                }
            },
        )
        .await;
        let listed = self.customer.all_deliveries().await;
        let ours = listed.iter().filter(|it| it["rule_id"] == self.rule);
        assert_eq!(ours.count(), wanted.len());
        Counts {
            kept: wanted.len(),
            lost: self.books.lost.len(),
            sent_again: wanted.values().map(|count| count - 1).sum(),
        }
    }

    /// Waits until every delivery has arrived as often as it must.
    pub(crate) async fn arrive(&self, what: &str) {
        let wanted = self.books.wanted();
        eventually(DEADLINE, &format!("{what}: all arrived"), async || {
            let arrived = self.arrived();
            let arrived: BTreeMap<&str, usize> = arrived
                .iter()
                .map(|(id, count)| (id.as_str(), *count))
                .collect();
            if arrived == wanted {
                Ok(())
            } else {
                Err(format!("{:?} of {:?}", arrived.values(), wanted.values()))
            }
        })
        .await;
    }

    /// The endpoint of the rule for another agent, once something was sent there.
    pub(crate) async fn endpoint_of(&self, agent: &str) -> String {
        let id = self.customer.ingest(&event(agent)).await;
        let path = format!("/v1/deliveries?state=delivered&event_id={id}");
        eventually(DEADLINE, "a delivery is listed", async || {
            let listed = self.customer.get_json(&path).await;
            Some(listed["data"][0]["endpoint_id"].as_str()?.to_owned())
        })
        .await
    }

    /// Pauses or resumes an endpoint.
    pub(crate) async fn change(&self, endpoint: &str, change: &str) {
        let path = format!("/v1/endpoints/{endpoint}/{change}");
        ok(self.person.post(&path, &json!({})).await).await;
    }

    pub(crate) async fn balance(&self) -> Value {
        let path = format!("/v1/alert-rules/{}/balance", self.rule);
        self.customer.get_json(&path).await
    }

    /// How often the delivery of each event has arrived.
    fn arrived(&self) -> BTreeMap<String, usize> {
        let mut arrived = BTreeMap::new();
        for received in self.receiver.received() {
            if received.uri.path() == "/other" {
                continue;
            }
            assert_ne!(received.uri.path(), "/deleted", "a deleted rule sends");
            let id = received.event_id().expect("an event");
            *arrived.entry(id).or_default() += 1;
        }
        arrived
    }

    /// Keys and rules are as they were decided, and a new event reaches its receiver signed.
    pub(crate) async fn works(&mut self, what: &str) -> Counts {
        let id = self.accept(1).await.remove(0);
        let is_it = |one: &Received| one.event_id().as_ref() == Some(&id);
        let received = eventually(
            DEADLINE,
            &format!("{what}: a new event arrives"),
            async || self.receiver.received_where(is_it).into_iter().next(),
        )
        .await;
        assert!(is_signed(&received, [Some(SECRET), None, None]));
        eventually(DEADLINE, "the revoked key is refused", async || {
            self.is_refused(&self.revoked).await
        })
        .await;
        self.agrees(what).await
    }

    pub(crate) async fn is_refused(&self, customer: &Customer) -> bool {
        let answer = customer.get("/v1/audit/events?limit=1").await;
        answer.status() == StatusCode::UNAUTHORIZED
    }
}

impl Books {
    /// Nobody has read these, and nobody will.
    pub(crate) fn lose(&mut self, ids: Vec<String>) {
        self.lost.extend(ids);
    }

    /// The deliveries of these events arrive once more.
    pub(crate) fn again<'i>(&mut self, ids: impl IntoIterator<Item = &'i String>) {
        for id in ids {
            *self.arrivals.get_mut(id).expect("an event") += 1;
        }
    }

    fn wanted(&self) -> BTreeMap<&str, usize> {
        let arrivals = self.arrivals.iter();
        let kept = arrivals.filter(|(id, _)| !self.lost.contains(*id));
        kept.map(|(id, count)| (id.as_str(), *count)).collect()
    }
}

/// A key of the person's organization, and its id.
pub(crate) async fn key(person: &Person) -> (Customer, String) {
    let scopes = [
        "events:write",
        "events:read",
        "rules:write",
        "deliveries:read",
    ];
    let wanted = json!({"name": "Drill", "scopes": scopes});
    let made = ok(person.post("/v1/api-keys", &wanted).await).await;
    let text = |field: &str| made[field].as_str().expect("a text").to_owned();
    let customer = Customer {
        http: http(),
        base_url: person.base_url.clone(),
        api_key: text("api_key"),
    };
    (customer, text("id"))
}

/// With times and owners, as a backup has them.
fn copy_all(from: PathBuf, to: PathBuf) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.expect("cp runs").success());
}
