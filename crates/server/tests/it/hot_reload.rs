//! Rules change while events flow: each event is judged once, by the rules as they were when it came.
//!
//! The delivery log is compared with a model, which says of each event and rule whether there must be a
//! delivery, must be none, or, because a change came at the same time, may be one: a change that had
//! returned before the event was sent counts, one that began after the event was judged does not. When
//! an event was judged, and that it was, is told by a witness: a rule that wants every event, never
//! changes and only puts it on record.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::Timestamp;
use serde_json::{Value, json};
use testkit::{Receiver, Signal, Watchbell, eventually};

use crate::deployment::{Customer, DEADLINE, Deployment};
use crate::editing::{Bustle, Definition, EventNote, Notes, Plan, RuleNotes, text};
use crate::load::arrived;

/// Two, so that several partitions may be at work.
const ORGS: usize = 2;
/// Of what went wrong, as much is shown.
const SHOWN: usize = 5;

#[tokio::test]
async fn while_rules_change_a_thousand_times_each_event_is_judged_once_by_the_rules_of_its_time() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index,deliver");
    let mut matchers = [deployment.serve("match"), deployment.serve("match")];
    let town = Town::found(&deployment, &mut server).await;

    let bustle = town.bustle(&Plan {
        changes: 1_000,
        slots: 6,
        change_every: Duration::from_millis(1),
    });
    // Held up now and then, they find events that wait and rules that are not what they knew.
    while !bustle.all_are_made() {
        for (signal, changes) in [(Signal::Stop, 3), (Signal::Continue, 2)] {
            for matcher in &mut matchers {
                matcher.signal(signal);
            }
            bustle.wait_for_changes(changes).await;
        }
    }
    let notes = bustle.end().await;
    println!("{}", notes.summary());
    let tally = town.check(&notes).await;
    println!("{tally:?}, {:.3} of it decided", tally.decided());

    let arrived = arrived(&town.receiver);
    let sent_again = arrived.values().filter(|sends| sends.len() > 1).count();
    assert_eq!(sent_again, 0, "each delivery is sent once");
    assert_eq!(arrived.len(), tally.sent, "each delivery on record is sent");
    assert!(tally.must_be >= 2_000, "{tally:?}");
    assert!(tally.decided() >= 0.8, "{tally:?}");
}

#[tokio::test]
async fn matchers_that_are_killed_while_rules_change_judge_each_event_once() {
    const KILLS: usize = 4;
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index,deliver");
    let mut matchers = [deployment.serve("match"), deployment.serve("match")];
    let town = Town::found(&deployment, &mut server).await;

    let bustle = town.bustle(&Plan {
        changes: 96,
        slots: 4,
        change_every: Duration::from_millis(1_500),
    });
    for round in 0..KILLS {
        // Somebody is at work again.
        let more = town.receiver.count() + 30;
        town.receiver.wait_for(more, DEADLINE).await;
        assert!(!bustle.all_are_made(), "rules change until the last kill");
        // One takes over from the other; every second time nobody is left.
        let killed = &mut matchers[..=round % 2];
        killed.iter_mut().for_each(Watchbell::kill);
        bustle.wait_for_changes(5).await;
        for matcher in killed {
            *matcher = deployment.serve("match");
        }
    }
    let notes = bustle.end().await;
    println!("{}", notes.summary());
    let tally = town.check(&notes).await;
    println!("{tally:?}, {:.3} of it decided", tally.decided());
    assert!(tally.must_be >= 200, "{tally:?}");
    assert!(tally.decided() >= 0.5, "{tally:?}");
}

/// Organizations whose rules are about to change.
struct Town {
    customers: Vec<Customer>,
    /// The rule of each that wants every event.
    witnesses: Vec<String>,
    receiver: Receiver,
}

/// A delivery as it is in the log.
struct Logged {
    url: String,
    matched_at: Timestamp,
    /// Or canceled, because its rule was deleted first.
    is_sent: bool,
}

/// Deliveries by event and rule.
type Log = BTreeMap<(String, String), Logged>;

/// How often the model said what; of an event that no version of a rule wants it is not asked.
#[derive(Debug, Default)]
struct Tally {
    must_be: usize,
    must_not_be: usize,
    may_be: usize,
    /// Deliveries that were sent, but for those of the witnesses.
    sent: usize,
}

impl Town {
    async fn found(deployment: &Deployment, server: &mut Watchbell) -> Self {
        let receiver = Receiver::start().expect("a receiver");
        let (mut customers, mut witnesses) = (Vec::new(), Vec::new());
        for _ in 0..ORGS {
            let customer = deployment.customer(server);
            let witness = json!({
                "name": "Witness", "match": {"result": ["denied"]}, "url": receiver.url(), "shadow": true,
            });
            witnesses.push(customer.make_rule(&witness).await);
            customers.push(customer);
        }
        Self {
            customers,
            witnesses,
            receiver,
        }
    }

    fn bustle(&self, plan: &Plan) -> Bustle {
        Bustle::start(&self.customers, &self.receiver.url(), plan)
    }

    /// Compares the delivery log with the model, once everything is judged and sent.
    async fn check(&self, notes: &Notes) -> Tally {
        let mut log = Log::new();
        for org in 0..ORGS {
            self.read_log(org, notes, &mut log).await;
        }
        let (mut tally, mut faults) = (Tally::default(), Vec::new());
        for event in &notes.events {
            let witness = (event.id.clone(), self.witnesses[event.org].clone());
            let judged_at = log.remove(&witness).expect("waited for").matched_at;
            assert!(judged_at >= event.sent, "{} is judged once sent", event.id);
            for rule in notes.rules.iter().filter(|rule| rule.org == event.org) {
                let logged = log.remove(&(event.id.clone(), rule.id.clone()));
                if let Err(fault) = tally.compare(rule, event, judged_at, logged) {
                    let (id, rule, sent) = (&event.id, &rule.id, event.sent);
                    let when = format!("sent {sent}, judged {judged_at}");
                    faults.push(format!("{id}, {when}, by {rule}: {fault}"));
                }
            }
        }
        let shown = &faults[..faults.len().min(SHOWN)];
        assert!(faults.is_empty(), "{} faults: {shown:#?}", faults.len());
        assert!(log.is_empty(), "nothing else: {:?}", log.keys().next());
        tally
    }

    /// The delivery log of an organization, once each event is judged and each delivery sent, or canceled
    /// because its rule was deleted meanwhile.
    async fn read_log(&self, org: usize, notes: &Notes, log: &mut Log) {
        let (customer, witness) = (&self.customers[org], self.witnesses[org].as_str());
        let sent = notes.events.iter().filter(|event| event.org == org);
        let sent: BTreeSet<&str> = sent.map(|event| event.id.as_str()).collect();
        let deliveries = eventually(DEADLINE, "all is judged and sent", async || {
            let deliveries = customer.all_deliveries().await;
            let (mut missing, mut open) = (sent.clone(), 0);
            for delivery in &deliveries {
                if delivery["rule_id"] == witness {
                    missing.remove(delivery["event_id"].as_str()?);
                } else if delivery["state"] != "delivered" && delivery["reason"] != "rule_deleted" {
                    open += 1;
                }
            }
            (missing.is_empty() && open == 0).then_some(deliveries)
        })
        .await;
        let mut matches: BTreeMap<String, u64> = BTreeMap::new();
        for delivery in deliveries {
            assert_eq!(delivery["cause"], "match", "{delivery}");
            let (event, rule) = (text(&delivery, "event_id"), text(&delivery, "rule_id"));
            *matches.entry(rule.clone()).or_default() += 1;
            let matched_at = Timestamp::parse(&text(&delivery, "matched_at"));
            let logged = Logged {
                url: text(&delivery, "url"),
                matched_at: matched_at.expect("a time"),
                is_sent: delivery["state"] == "delivered",
            };
            let twice = log.insert((event, rule), logged);
            assert!(twice.is_none(), "a second one: {delivery}");
        }
        // What is judged twice has one delivery, because its id is derived, but is counted twice.
        let rules = customer.get_json("/v1/alert-rules?limit=100").await;
        assert_eq!(rules["next_cursor"], Value::Null, "all rules");
        for rule in rules["data"].as_array().expect("data") {
            let logged = matches.get(&text(rule, "id")).copied().unwrap_or_default();
            assert_eq!(rule["stats"]["matched_24h"], logged, "once each: {rule}");
        }
    }
}

impl Tally {
    /// Says what is wrong about an event and a rule, if anything.
    fn compare(
        &mut self,
        rule: &RuleNotes,
        event: &EventNote,
        judged_at: Timestamp,
        logged: Option<Logged>,
    ) -> Result<(), String> {
        let possible = possible(rule, event.sent, judged_at);
        let wants = |one: &&Definition| one.wants(event.agent);
        let wanting: Vec<&Definition> = possible.iter().copied().flatten().filter(wants).collect();
        let is_sure = wanting.len() == possible.len();
        let mut ever = rule.changes.iter().filter_map(|it| it.then.as_ref());
        if is_sure {
            self.must_be += 1;
        } else if !wanting.is_empty() {
            self.may_be += 1;
        } else if ever.any(|one| one.wants(event.agent)) {
            self.must_not_be += 1;
        }
        self.sent += usize::from(logged.as_ref().is_some_and(|logged| logged.is_sent));
        match logged {
            None if is_sure => Err(format!("missing although it is {possible:?}")),
            Some(_) if wanting.is_empty() => Err(format!("there although it is {possible:?}")),
            Some(Logged { url, .. }) if wanting.iter().all(|one| one.url != url) => {
                Err(format!("went to {url} although it is {possible:?}"))
            }
            _ => Ok(()),
        }
    }

    /// The part that the model is sure of.
    #[expect(clippy::cast_precision_loss, reason = "thousands, not quadrillions")]
    fn decided(&self) -> f64 {
        let decided = self.must_be + self.must_not_be;
        decided as f64 / (decided + self.may_be) as f64
    }
}

/// What a rule may have been when an event was judged; `None` where there was no rule.
fn possible(rule: &RuleNotes, sent: Timestamp, judged_at: Timestamp) -> Vec<Option<&Definition>> {
    // Times are cut to the millisecond: within the same one, either may have been first.
    let settled = rule.changes.partition_point(|it| it.returned < sent);
    let (before, later) = rule.changes.split_at(settled);
    let before = before.last().and_then(|change| change.then.as_ref());
    let later = later
        .iter()
        .take_while(|change| change.began <= judged_at)
        .map(|change| change.then.as_ref());
    std::iter::once(before).chain(later).collect()
}
