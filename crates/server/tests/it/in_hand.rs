//! What workers have in hand, as the queue knows it, and the promise about duplicates: none, but of what was in hand when
//! a worker died.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use journal::record;
use serde_json::{Value, json};
use testkit::eventually;

use crate::deployment::Deployment;
use crate::load::Arrived;

/// What was sent so long before the journal died may not have been on record yet.
const RECORDED_WITHIN: Duration = Duration::from_secs(1);
/// What a killed worker had in hand comes back after 16 s; so does what the next one had.
const EMPTY_WITHIN: Duration = Duration::from_mins(2);

/// How often each delivery may have been sent once more than it had to be.
#[derive(Debug, Default)]
pub(crate) struct Excuses {
    /// How often it was in the hands of a worker that died.
    held: BTreeMap<String, usize>,
    /// When the journal was away.
    away: Vec<(Instant, Instant)>,
    /// Who died, and when: for whoever has to find out why something was sent again.
    deaths: Vec<(Instant, &'static str)>,
}

impl Excuses {
    /// Notes a death that excuses nothing.
    pub(crate) fn died(&mut self, who: &'static str) {
        self.deaths.push((Instant::now(), who));
    }

    /// A worker has just been killed: what it had in hand may be sent again. If others live, theirs is taken for its.
    pub(crate) fn worker_died(&mut self, deployment: &Deployment) {
        for delivery in Queue::of(deployment).in_hand() {
            *self.held.entry(delivery).or_default() += 1;
        }
    }

    /// The journal was away: what was sent meanwhile, or just before, may not be on record.
    pub(crate) fn journal_was_away(&mut self, since: Instant) {
        self.away.push((since, Instant::now()));
    }

    /// How many deliveries were in the hands of workers that died.
    pub(crate) fn held(&self) -> usize {
        self.held.values().sum()
    }

    /// How often deliveries were sent too often, if each of them has an excuse. `sends` are all deliveries with the
    /// times at which they arrived.
    pub(crate) fn cover<'s>(
        &self,
        sends: impl IntoIterator<Item = (&'s str, Vec<Instant>)>,
    ) -> usize {
        let (mut again, mut unexcused) = (0, Vec::new());
        for (delivery, at) in sends {
            let is_near = |(from, to): &&(Instant, Instant)| {
                at.iter()
                    .any(|at| *at + RECORDED_WITHIN >= *from && at <= to)
            };
            let held = self.held.get(delivery).copied().unwrap_or_default();
            let allowed = held + self.away.iter().filter(is_near).count();
            again += at.len() - 1;
            if at.len() - 1 > allowed {
                let gaps: Vec<Duration> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
                let before = |(died, who): &(Instant, &str)| {
                    let last = at.last()?;
                    (died <= last).then(|| format!("{who} {:?} before", *last - *died))
                };
                let deaths: Vec<String> = self
                    .deaths
                    .iter()
                    .rev()
                    .filter_map(before)
                    .take(6)
                    .collect();
                unexcused.push(format!(
                    "{delivery}: again after {gaps:?}, {allowed} excused, {deaths:?}"
                ));
            }
        }
        assert!(
            unexcused.is_empty(),
            "{} deliveries were sent again though nobody died with them in hand: {unexcused:#?}",
            unexcused.len()
        );
        again
    }

    /// The same of what a receiver got, once nothing is queued any more that could still be sent.
    pub(crate) fn cover_arrived(&self, arrived: &Arrived) -> usize {
        self.cover(sends(arrived))
    }
}

fn sends(arrived: &Arrived) -> impl Iterator<Item = (&str, Vec<Instant>)> {
    arrived.iter().map(|(delivery, arrivals)| {
        let at = arrivals.iter().map(|arrival| arrival.arrived);
        (delivery.as_str(), at.collect())
    })
}

/// Waits until nothing is queued: whatever is sent again has been sent by then.
pub(crate) async fn until_nothing_is_queued(deployment: &Deployment) {
    eventually(EMPTY_WITHIN, "nothing is queued", async || {
        let queued = Queue::of(deployment).messages();
        if queued == 0 { Ok(()) } else { Err(queued) }
    })
    .await;
}

/// The queue of deliveries, asked as anybody with access to NATS could.
struct Queue {
    stream: TcpStream,
    lines: BufReader<TcpStream>,
    /// One stream for each partition.
    names: Vec<String>,
}

impl Queue {
    fn of(deployment: &Deployment) -> Self {
        let setting = |wanted: &str| {
            let found = deployment.variables().find(|(name, _)| *name == wanted);
            found.expect("it is set").1.to_owned()
        };
        let address = setting("WATCHBELL__JOURNAL__URL");
        let stream = TcpStream::connect(address.trim_start_matches("nats://"));
        let stream = stream.expect("NATS runs");
        let lines = BufReader::new(stream.try_clone().expect("a handle"));
        let partitions: u16 = setting("WATCHBELL__JOURNAL__PARTITIONS")
            .parse()
            .expect("a number");
        let namespace = setting("WATCHBELL__JOURNAL__NAMESPACE");
        let name = |partition| format!("{namespace}_DELIVERIES_{partition}");
        let mut queue = Self {
            stream,
            lines,
            names: (0..partitions).map(name).collect(),
        };
        queue.say(b"CONNECT {\"verbose\":false}\r\nSUB answers 1\r\n");
        queue
    }

    /// How many messages there are.
    fn messages(mut self) -> u64 {
        let names = self.names.clone();
        names.iter().map(|name| self.state(name).0).sum()
    }

    /// The deliveries of all messages that were handed to a worker and not settled.
    fn in_hand(mut self) -> Vec<String> {
        let names = self.names.clone();
        let mut deliveries = Vec::new();
        for name in &names {
            let sources = self.handed_out(name);
            let (_, first) = self.state(name);
            let last = sources.values().max().copied().unwrap_or_default();
            for sequence in first..=last {
                let Some((subject, payload)) = self.message(name, sequence) else {
                    continue;
                };
                if sources.get(&subject).is_some_and(|last| sequence <= *last) {
                    let jobs = record::jobs(&payload).expect("readable");
                    let ids = jobs.iter().map(|job| job.matched.delivery.to_string());
                    deliveries.extend(ids);
                }
            }
        }
        deliveries
    }

    /// The messages of a stream, and the sequence of the first.
    fn state(&mut self, name: &str) -> (u64, u64) {
        let info = self.ask(&format!("STREAM.INFO.{name}"), &json!({}));
        let number = |field: &str| info["state"][field].as_u64().expect("a number");
        (number("messages"), number("first_seq"))
    }

    /// What workers take from, by subject, and up to which sequence that was handed out.
    fn handed_out(&mut self, name: &str) -> BTreeMap<String, u64> {
        let answer = self.ask(&format!("CONSUMER.LIST.{name}"), &json!({"offset": 0}));
        let consumers = answer["consumers"].as_array().cloned().unwrap_or_default();
        let handed_out = consumers.iter().map(|consumer| {
            let subject = consumer["config"]["filter_subject"].as_str().expect("one");
            let last = consumer["delivered"]["stream_seq"].as_u64();
            (subject.to_owned(), last.unwrap_or_default())
        });
        handed_out.collect()
    }

    /// `None` if it was settled.
    fn message(&mut self, name: &str, sequence: u64) -> Option<(String, Vec<u8>)> {
        let answer = self.ask(&format!("STREAM.MSG.GET.{name}"), &json!({"seq": sequence}));
        let message = &answer["message"];
        let payload = BASE64.decode(message["data"].as_str()?).expect("base64");
        Some((message["subject"].as_str()?.to_owned(), payload))
    }

    fn ask(&mut self, what: &str, question: &Value) -> Value {
        let question = question.to_string();
        let request = format!(
            "PUB $JS.API.{what} answers {}\r\n{question}\r\n",
            question.len()
        );
        self.say(request.as_bytes());
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).expect("a line");
            assert!(read > 0, "NATS went away");
            if line.starts_with("PING") {
                self.say(b"PONG\r\n");
            } else if line.starts_with("MSG answers") {
                let length = line.split_whitespace().last().expect("a length");
                let mut answer = vec![0; length.parse().expect("a number")];
                self.lines.read_exact(&mut answer).expect("an answer");
                return serde_json::from_slice(&answer).expect("JSON");
            }
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("sent");
    }
}
