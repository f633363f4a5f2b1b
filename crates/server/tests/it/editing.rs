//! Editors who change rules and clients who post beside them; both note what they did and when.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use domain::Timestamp;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::Dice;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::deployment::{Customer, DEADLINE, event, ok};
use crate::load::{named_event, now};

/// Chance, but the same in every run; changed, the test tells another story.
const SEED: u64 = 5;
const EDITORS: usize = 8;
const CLIENTS: usize = 4;
/// How often each client posts: steady work for two busy cores, not a benchmark.
const POST_EVERY: Duration = Duration::from_millis(100);
/// Few enough that most events are wanted by a rule.
const AGENTS: u8 = 24;

/// How much is changed, and how fast.
pub(crate) struct Plan {
    pub(crate) changes: usize,
    /// How many rules an editor has at most.
    pub(crate) slots: u8,
    /// How often an editor makes a change, if it can.
    pub(crate) change_every: Duration,
}

/// Editors and clients at work.
pub(crate) struct Bustle {
    editors: JoinSet<Notes>,
    clients: JoinSet<Notes>,
    stop: watch::Sender<bool>,
    made: watch::Sender<usize>,
    changes: usize,
    began: Instant,
}

/// What editors and clients did.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) rules: Vec<RuleNotes>,
    pub(crate) events: Vec<EventNote>,
    took: Duration,
}

/// Every change of a rule, in order: they are made one after the other.
pub(crate) struct RuleNotes {
    /// The place of its organization among the customers.
    pub(crate) org: usize,
    pub(crate) id: String,
    pub(crate) changes: Vec<Change>,
}

#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) began: Timestamp,
    pub(crate) returned: Timestamp,
    /// The rule from then on; `None` if it was deleted.
    pub(crate) then: Option<Definition>,
}

#[derive(Clone, Debug)]
pub(crate) struct Definition {
    agents: [u8; 2],
    pub(crate) url: String,
    enabled: bool,
}

/// An event that was accepted.
pub(crate) struct EventNote {
    pub(crate) org: usize,
    pub(crate) id: String,
    pub(crate) agent: u8,
    pub(crate) sent: Timestamp,
}

impl Bustle {
    /// Starts editors and clients of these customers; webhooks go to addresses below `hook`.
    pub(crate) fn start(customers: &[Customer], hook: &str, plan: &Plan) -> Self {
        let (stop, stopped) = watch::channel(false);
        let made = watch::Sender::new(0);
        let (mut editors, mut clients) = (JoinSet::new(), JoinSet::new());
        for number in 0..EDITORS {
            let org = number % customers.len();
            let editor = Editor {
                customer: customers[org].clone(),
                org,
                hook: hook.to_owned(),
                dice: dice(number),
                slots: vec![None; plan.slots.into()],
                notes: Notes::default(),
            };
            let (changes, every) = (plan.changes / EDITORS, plan.change_every);
            editors.spawn(editor.make(changes, every, made.clone()));
        }
        for number in 0..CLIENTS {
            let org = number % customers.len();
            let customer = customers[org].clone();
            clients.spawn(post_until(stopped.clone(), number, org, customer));
        }
        Self {
            editors,
            clients,
            stop,
            made,
            changes: plan.changes,
            began: Instant::now(),
        }
    }

    /// Waits until so many more changes are made, or all are.
    pub(crate) async fn wait_for_changes(&self, more: usize) {
        let mut made = self.made.subscribe();
        let aim = (*made.borrow_and_update() + more).min(self.changes);
        let waited = tokio::time::timeout(DEADLINE, made.wait_for(|made| *made >= aim)).await;
        assert!(waited.is_ok(), "{more} more changes are made in time");
    }

    pub(crate) fn all_are_made(&self) -> bool {
        *self.made.borrow() == self.changes
    }

    /// Lets the editors make all their changes, then stops the clients.
    pub(crate) async fn end(self) -> Notes {
        let mut all = Notes::default();
        let edited = self.editors.join_all().await;
        self.stop.send_replace(true);
        let posted = self.clients.join_all().await;
        for notes in edited.into_iter().chain(posted) {
            all.rules.extend(notes.rules);
            all.events.extend(notes.events);
        }
        let changes: usize = all.rules.iter().map(|rule| rule.changes.len()).sum();
        assert_eq!(changes, self.changes, "every change is noted");
        all.took = self.began.elapsed();
        all
    }
}

/// Changes rules that nobody else does.
struct Editor {
    customer: Customer,
    org: usize,
    hook: String,
    dice: Dice,
    /// The place in the notes of each rule that there is.
    slots: Vec<Option<usize>>,
    notes: Notes,
}

impl Editor {
    async fn make(mut self, changes: usize, every: Duration, made: watch::Sender<usize>) -> Notes {
        let mut ticks = steady(every);
        let slots: Vec<usize> = (0..self.slots.len()).collect();
        for _ in 0..changes {
            ticks.tick().await;
            let slot = self.dice.of(&slots);
            let agents = match self.slots[slot] {
                None => self.create(slot).await,
                Some(rule) => self.change(slot, rule).await,
            };
            // The very next events are those that the change makes a difference to.
            let event = |agent| (agent, event(&agent_name(agent)));
            let events: Vec<(u8, Value)> = agents.into_iter().map(event).collect();
            self.notes.post(&self.customer, self.org, &events).await;
            made.send_modify(|made| *made += 1);
        }
        self.notes
    }

    /// Makes a rule, and returns the agents that it is about.
    async fn create(&mut self, slot: usize) -> BTreeSet<u8> {
        let definition = Definition::random(&mut self.dice, &self.hook);
        let request = self.customer.request(Method::POST, "/v1/alert-rules");
        let began = now();
        let answer = request.json(&definition.body()).send().await;
        let returned = now();
        let made = ok(answer.expect("an answer")).await;
        let agents = definition.agents.into();
        self.slots[slot] = Some(self.notes.rules.len());
        self.notes.rules.push(RuleNotes {
            org: self.org,
            id: text(&made, "id"),
            changes: vec![Change {
                began,
                returned,
                then: Some(definition),
            }],
        });
        agents
    }

    /// Changes or deletes a rule, and returns the agents that it was or is about.
    async fn change(&mut self, slot: usize, rule: usize) -> BTreeSet<u8> {
        let notes = &mut self.notes.rules[rule];
        let was = notes.changes.last().and_then(|last| last.then.clone());
        let was = was.expect("a rule that is gone has no slot");
        let (method, body, then) = was.changed(&mut self.dice, &self.hook);
        let path = format!("/v1/alert-rules/{}", notes.id);
        let request = self.customer.request(method, &path).json(&body);
        let began = now();
        let answer = request.send().await.expect("an answer");
        let returned = now();
        assert!(answer.status().is_success(), "{:?}", answer.text().await);
        if then.is_none() {
            self.slots[slot] = None;
        }
        let agents = then.iter().chain([&was]).flat_map(|one| one.agents);
        let agents = agents.collect();
        notes.changes.push(Change {
            began,
            returned,
            then,
        });
        agents
    }
}

impl Definition {
    fn random(dice: &mut Dice, hook: &str) -> Self {
        Self {
            agents: [dice.below(AGENTS), dice.below(AGENTS)],
            url: format!("{hook}/{}", dice.below(3_u8)),
            enabled: !dice.one_in(6),
        }
    }

    /// A change by chance: the request, and the rule from then on.
    fn changed(&self, dice: &mut Dice, hook: &str) -> (Method, Value, Option<Self>) {
        let (mut then, other) = (self.clone(), Self::random(dice, hook));
        let fields = match dice.below(6_u8) {
            0 => return (Method::DELETE, Value::Null, None),
            1 => return (Method::PUT, other.body(), Some(other)),
            2 | 3 => {
                then.agents = other.agents;
                json!({"match": then.pattern()})
            }
            4 => {
                then.url = other.url;
                json!({"url": then.url})
            }
            _ => {
                then.enabled = !self.enabled;
                json!({"enabled": then.enabled})
            }
        };
        (Method::PATCH, fields, Some(then))
    }

    pub(crate) fn wants(&self, agent: u8) -> bool {
        self.enabled && self.agents.contains(&agent)
    }

    fn body(&self) -> Value {
        json!({"name": "Test rule", "match": self.pattern(), "url": self.url, "enabled": self.enabled})
    }

    fn pattern(&self) -> Value {
        json!({"agent_id": BTreeSet::from(self.agents.map(agent_name))})
    }
}

/// Posts events of chance agents until stopped.
async fn post_until(
    stopped: watch::Receiver<bool>,
    number: usize,
    org: usize,
    customer: Customer,
) -> Notes {
    let (mut notes, mut dice) = (Notes::default(), dice(EDITORS + number));
    let mut ticks = steady(POST_EVERY);
    for count in 0.. {
        ticks.tick().await;
        if *stopped.borrow() {
            break;
        }
        let agent = dice.below(AGENTS);
        // One that may come twice is judged in another way.
        let event = if dice.one_in(4) {
            named_event(&agent_name(agent), &format!("client-{number}-{count}"))
        } else {
            event(&agent_name(agent))
        };
        notes.post(&customer, org, &[(agent, event)]).await;
    }
    notes
}

impl Notes {
    /// For whoever reads what the test did.
    pub(crate) fn summary(&self) -> String {
        let (rules, events, took) = (self.rules.len(), self.events.len(), self.took);
        let changes: usize = self.rules.iter().map(|rule| rule.changes.len()).sum();
        format!(
            "seed {SEED}: {changes} changes of {rules} rules beside {events} events in {took:?}"
        )
    }

    /// Posts events in one request.
    async fn post(&mut self, customer: &Customer, org: usize, events: &[(u8, Value)]) {
        let bodies: Vec<&Value> = events.iter().map(|(_, event)| event).collect();
        let request = customer.request(Method::POST, "/v1/audit/events");
        let request = request.json(&json!({"events": bodies}));
        let sent = now();
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
        let answer = ok(answer).await;
        let accepted = answer["events"].as_array().expect("events");
        assert_eq!(accepted.len(), events.len(), "{answer}");
        for ((agent, _), event) in events.iter().zip(accepted) {
            self.events.push(EventNote {
                org,
                id: text(event, "id"),
                agent: *agent,
                sent,
            });
        }
    }
}

fn steady(every: Duration) -> tokio::time::Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

fn dice(number: usize) -> Dice {
    Dice(SEED.wrapping_mul(1_000) + number as u64)
}

fn agent_name(agent: u8) -> String {
    format!("agent-{agent}")
}

/// A field that is there.
pub(crate) fn text(value: &Value, field: &str) -> String {
    value[field].as_str().expect("a text").to_owned()
}
