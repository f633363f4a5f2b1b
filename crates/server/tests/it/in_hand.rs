//! What workers have in hand, as the queue knows it, and the promise about duplicates: none, but of what was in hand when
//! a worker died.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use journal::record;
use serde_json::{Value, json};
use testkit::eventually;

use crate::deployment::Deployment;
use crate::load::Arrived;

/// What a killed worker had in hand comes back after 16 s; so does what the next one had.
const EMPTY_WITHIN: Duration = Duration::from_mins(2);

/// How often each delivery may have been sent once more than it had to be: as often as it was in the hands of a worker that
/// died.
#[derive(Debug, Default)]
pub(crate) struct Excuses(BTreeMap<String, usize>);

impl Excuses {
    /// A worker has just been killed: what it had in hand may be sent again. If others live, theirs is taken for its.
    pub(crate) fn worker_died(&mut self, deployment: &Deployment) {
        for delivery in Queue::of(deployment).in_hand() {
            *self.0.entry(delivery).or_default() += 1;
        }
    }

    /// How many deliveries were in the hands of workers that died.
    pub(crate) fn held(&self) -> usize {
        self.0.values().sum()
    }

    /// How often deliveries were sent too often, if each of them has an excuse. `sends` are all deliveries with the
    /// times at which they arrived.
    pub(crate) fn cover<'s>(
        &self,
        sends: impl IntoIterator<Item = (&'s str, Vec<Instant>)>,
    ) -> usize {
        let (mut again, mut unexcused) = (0, Vec::new());
        for (delivery, at) in sends {
            let allowed = self.0.get(delivery).copied().unwrap_or_default();
            again += at.len() - 1;
            if at.len() - 1 > allowed {
                let gaps: Vec<Duration> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
                unexcused.push(format!(
                    "{delivery}: again after {gaps:?}, {allowed} excused"
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

/// How many messages the queue has handed out again, because it took whoever had them for dead.
pub(crate) fn handed_out_again(deployment: &Deployment) -> u64 {
    Queue::of(deployment).handed_out_again()
}

/// Has the queue forget whom it handed what.
pub(crate) fn forget_who_has_what(deployment: &Deployment) {
    let mut queue = Queue::of(deployment);
    for name in queue.names.clone() {
        for consumer in queue.consumers(&name) {
            let consumer = consumer["name"].as_str().expect("a name");
            queue.ask(&format!("CONSUMER.DELETE.{name}.{consumer}"), &json!({}));
        }
    }
}

/// Has the record take nothing more, or everything again.
pub(crate) fn seal_record(deployment: &Deployment, is_sealed: bool) {
    let mut queue = Queue::of(deployment);
    for name in queue.names.clone() {
        queue.seal(&name.replace("DELIVERIES", "OUTCOMES"), is_sealed);
    }
}

/// The queue of deliveries, asked as anybody with access to NATS could.
struct Queue {
    stream: TcpStream,
    lines: BufReader<TcpStream>,
    /// One stream for each partition.
    names: Vec<String>,
}

struct Message {
    sequence: u64,
    subject: String,
    headers: String,
    payload: Vec<u8>,
}

impl Message {
    /// The sequence of the message that it was moved from: its name begins with it, unless it is the first.
    fn moved_from(&self) -> Option<u64> {
        let name = self.headers.split_once("Nats-Msg-Id:")?.1.trim_start();
        name.split_once('-')?.0.parse().ok()
    }
}

/// How many messages a stream has, and the sequences of the first and the last.
struct State {
    messages: u64,
    first: u64,
    last: u64,
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
        names.iter().map(|name| self.state(name).messages).sum()
    }

    /// The deliveries of all messages that were handed to a worker and not settled. A message from which something was moved
    /// that stands elsewhere now is in the hands of whoever moved it, whatever the queue says: it may have been started anew
    /// since.
    fn in_hand(mut self) -> Vec<String> {
        let names = self.names.clone();
        let mut in_hand = Vec::new();
        for name in &names {
            let sources = self.handed_out(name);
            let state = self.state(name);
            let sequences = state.first..=state.last;
            let messages = sequences.filter_map(|sequence| self.message(name, sequence));
            let messages: BTreeMap<u64, Message> = messages.map(|it| (it.sequence, it)).collect();
            let moved: BTreeSet<u64> = messages.values().filter_map(Message::moved_from).collect();
            for (sequence, message) in messages {
                let handed_out = sources.get(&message.subject);
                if handed_out.is_some_and(|last| sequence <= *last) || moved.contains(&sequence) {
                    let jobs = record::jobs(&message.payload).expect("readable");
                    in_hand.extend(jobs.iter().map(|job| job.matched.delivery.to_string()));
                }
            }
        }
        in_hand
    }

    fn handed_out_again(mut self) -> u64 {
        let names = self.names.clone();
        let consumers = names.iter().flat_map(|name| self.consumers(name));
        let again = consumers.map(|consumer| consumer["num_redelivered"].as_u64());
        again.map(|again| again.expect("a number")).sum()
    }

    /// A stream that is full refuses; without a bound it takes everything.
    fn seal(&mut self, name: &str, is_sealed: bool) {
        let messages = self.state(name).messages;
        let info = self.ask(&format!("STREAM.INFO.{name}"), &json!({}));
        let mut config = info["config"].clone();
        config["discard"] = json!(if is_sealed { "new" } else { "old" });
        config["max_msgs"] = if is_sealed {
            json!(messages.max(1))
        } else {
            json!(-1)
        };
        let answer = self.ask(&format!("STREAM.UPDATE.{name}"), &config);
        assert_eq!(answer["error"], Value::Null);
    }

    fn state(&mut self, name: &str) -> State {
        let info = self.ask(&format!("STREAM.INFO.{name}"), &json!({}));
        let number = |field: &str| info["state"][field].as_u64().expect("a number");
        State {
            messages: number("messages"),
            first: number("first_seq"),
            last: number("last_seq"),
        }
    }

    /// What workers take from, by subject, and up to which sequence that was handed out.
    fn handed_out(&mut self, name: &str) -> BTreeMap<String, u64> {
        let consumers = self.consumers(name);
        let handed_out = consumers.iter().map(|consumer| {
            let subject = consumer["config"]["filter_subject"].as_str().expect("one");
            let last = consumer["delivered"]["stream_seq"].as_u64();
            (subject.to_owned(), last.unwrap_or_default())
        });
        handed_out.collect()
    }

    fn consumers(&mut self, name: &str) -> Vec<Value> {
        let answer = self.ask(&format!("CONSUMER.LIST.{name}"), &json!({"offset": 0}));
        answer["consumers"].as_array().cloned().unwrap_or_default()
    }

    /// `None` if it was settled.
    fn message(&mut self, name: &str, sequence: u64) -> Option<Message> {
        let answer = self.ask(&format!("STREAM.MSG.GET.{name}"), &json!({"seq": sequence}));
        let message = &answer["message"];
        let decode = |field: &str| {
            let given = message[field].as_str()?;
            Some(BASE64.decode(given).expect("base64"))
        };
        Some(Message {
            sequence,
            subject: message["subject"].as_str()?.to_owned(),
            headers: String::from_utf8(decode("hdrs")?).expect("text"),
            payload: decode("data")?,
        })
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
