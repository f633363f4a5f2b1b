//! Makes one attempt: one POST, signed over exactly the bytes that are sent, within one deadline.

pub mod address;
mod answer;
mod connect;
mod connection;
pub mod head;
mod request;
mod resolve;
pub mod signing;
pub mod target;
mod trouble;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use domain::{
    Timestamp,
    delivery::{
        Answer, Cause, Outcome,
        body::body,
        diagnosis::{Reply, Trouble, clock_skew, explain, retry_after},
    },
};
use hyper::{
    HeaderMap, Response,
    body::Incoming,
    http::{
        Extensions,
        header::{DATE, LOCATION, RETRY_AFTER},
    },
};
use hyper_util::{
    client::legacy::{
        Client,
        connect::{CaptureConnection, capture_connection},
    },
    rt::{TokioExecutor, TokioTimer},
};
use journal::record::{Job, SecretUsed, Timings};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, timeout_at};

use self::{
    connect::Connector,
    connection::{Facts, micros},
    head::Head,
    request::{HandedOver, NotedBody, request},
    resolve::Resolver,
    signing::{Message, Signing, Unsigned},
    target::TargetPolicy,
};

/// Everything, from resolving the name to the last byte read of the answer.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle connections are kept this long, and as many for each endpoint as it may have in flight.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
const IDLE_MAX: usize = 64;
/// What a connection may buffer, and so the longest head of an answer.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// Sends webhooks. Cheap to clone.
#[derive(Clone)]
pub struct Sender {
    client: Client<Connector, NotedBody>,
    policy: Arc<TargetPolicy>,
    signing: Signing,
}

/// What one attempt came to.
#[derive(Clone, Debug)]
pub struct Sent {
    pub body_sha256: String,
    pub body_bytes: u32,
    pub status: Option<u16>,
    pub remote_address: Option<SocketAddr>,
    pub tls: Option<String>,
    pub timings: Timings,
    /// The secrets it was signed with; the first gave the main signature.
    pub secrets: Vec<SecretUsed>,
    pub answer_headers: Vec<(String, String)>,
    pub answer_text: String,
    pub clock_skew_s: Option<i32>,
    pub retry_after: Option<Duration>,
    pub timed_out: bool,
    pub outcome: Outcome,
    pub error: Option<String>,
}

impl Sender {
    pub fn new(
        policy: Arc<TargetPolicy>,
        nameservers: &[SocketAddr],
        signing: Signing,
    ) -> anyhow::Result<Self> {
        let resolver = Resolver::new(nameservers, Arc::clone(&policy))?;
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(IDLE_MAX)
            .pool_timer(TokioTimer::new())
            .http1_max_buf_size(BUFFER_BYTES_MAX)
            // A request that found its connection closed before a byte of it was written is put on
            // another. One that was begun is not: every byte sent is an attempt on record.
            .retry_canceled_requests(true)
            .build(Connector::new(resolver)?);
        Ok(Self {
            client,
            policy,
            signing,
        })
    }

    /// One attempt, signed at `signed_at`. Never fails: every end is an outcome.
    pub async fn send(&self, job: &Job, signed_at: Timestamp) -> Sent {
        let matched = &job.matched;
        let body = body(matched.rule, &matched.rule_name, &job.json, signed_at);
        let mut sent = Sent::nothing_yet(&body);
        // The operator may have forbidden the address since the rule was made.
        let uri = match self.policy.parse(&matched.url) {
            Ok(uri) => uri,
            Err(refusal) => return sent.troubled(&Trouble::Forbidden(refusal.to_string())),
        };
        let head = match self.signed_head(job, signed_at, &body) {
            Ok((head, secrets)) => {
                sent.secrets = secrets;
                head
            }
            Err(unsigned) => return sent.unsigned(&unsigned),
        };
        let (mut request, handed_over) = request(uri, head, body);
        let connection = capture_connection(&mut request);
        let started = Instant::now();
        let deadline = started + TOTAL_TIMEOUT;
        let answered = timeout_at(deadline, self.client.request(request)).await;
        sent.note_connection(started, &connection, &handed_over);
        match answered {
            Ok(Ok(response)) => {
                let answered = Instant::now();
                sent.timings.answered_us = Some(micros(started, answered));
                sent.read_head(&response, signed_at.plus(answered - started));
                // Decided by the headers: whatever happens to the body, a 200 stays a 200.
                sent.answer_text = answer::read(response.into_body(), deadline).await;
                sent
            }
            Ok(Err(error)) => {
                sent.remote_address = sent.remote_address.or(trouble::address(&error));
                sent.troubled(&trouble::read(&error))
            }
            Err(_) if handed_over.at().is_some() => sent.troubled(&Trouble::NoAnswer),
            Err(_) => sent.troubled(&Trouble::NotSent),
        }
    }

    /// The headers, and the secrets that signed.
    fn signed_head(
        &self,
        job: &Job,
        signed_at: Timestamp,
        body: &str,
    ) -> Result<(HeaderMap, Vec<SecretUsed>), Unsigned> {
        let matched = &job.matched;
        let head = Head {
            delivery: matched.delivery,
            event_type: &matched.event_type,
            signed_at,
            attempt: job.attempt,
            trigger: job.trigger.as_str(),
            suppressed: match matched.cause {
                Cause::Summary { suppressed } => Some(suppressed),
                Cause::Match | Cause::Test => None,
            },
        };
        let headers = head.headers();
        let mut headers = headers.expect("ids, names of types, times and numbers are plain ASCII");
        let message = Message {
            delivery: matched.delivery,
            signed_at,
            body,
        };
        let secrets = self.signing.sign(&mut headers, matched.org, message)?;
        Ok((headers, secrets))
    }
}

impl Sent {
    pub fn answer(&self) -> Answer {
        Answer {
            outcome: self.outcome,
            status: self.status,
            retry_after: self.retry_after,
            timed_out: self.timed_out,
        }
    }

    fn nothing_yet(body: &str) -> Self {
        Self {
            body_sha256: hex::encode(Sha256::digest(body.as_bytes())),
            body_bytes: u32::try_from(body.len()).unwrap_or(u32::MAX),
            status: None,
            remote_address: None,
            tls: None,
            timings: Timings::default(),
            secrets: Vec::new(),
            answer_headers: Vec::new(),
            answer_text: String::new(),
            clock_skew_s: None,
            retry_after: None,
            timed_out: false,
            outcome: Outcome::Transient,
            error: None,
        }
    }

    /// What is known of the connection, however the attempt ended.
    fn note_connection(
        &mut self,
        started: Instant,
        connection: &CaptureConnection,
        handed_over: &HandedOver,
    ) {
        let mut extensions = Extensions::new();
        if let Some(connected) = connection.connection_metadata().as_ref() {
            connected.get_extras(&mut extensions);
        }
        if let Some(facts) = extensions.get::<Facts>() {
            self.remote_address = Some(facts.address());
            self.tls = facts.tls().map(str::to_owned);
            self.timings = facts.take_phases(started).unwrap_or_default();
        }
        self.timings.sent_us = handed_over.at().map(|at| micros(started, at));
    }

    /// Ours to mend; the snapshot of secrets has logged it.
    fn unsigned(mut self, unsigned: &Unsigned) -> Self {
        self.outcome = Outcome::OurFault;
        self.error = Some(format!("Watchbell could not sign it: {unsigned}."));
        self
    }

    fn troubled(mut self, trouble: &Trouble) -> Self {
        self.outcome = trouble.outcome();
        self.timed_out = trouble.is_timeout();
        self.error = Some(trouble.explain());
        self
    }

    /// Reads the head of an answer that came at this time.
    fn read_head(&mut self, response: &Response<Incoming>, at: Timestamp) {
        let header = |name| response.headers().get(name)?.to_str().ok();
        let status = response.status().as_u16();
        self.status = Some(status);
        self.outcome = Outcome::of_status(status);
        self.answer_headers = answer::kept_headers(response.headers());
        self.retry_after = header(RETRY_AFTER).and_then(|value| retry_after(value, at));
        self.clock_skew_s = header(DATE).and_then(|value| clock_skew(value, at));
        let secret = self.secrets.first().map(|secret| match secret {
            SecretUsed::Deployment => "of the deployment".to_owned(),
            SecretUsed::Own(id) => id.to_string(),
        });
        self.error = explain(&Reply {
            status,
            retry_after: self.retry_after,
            clock_skew_s: self.clock_skew_s,
            secret: secret.as_deref(),
            location: header(LOCATION),
        });
    }
}
