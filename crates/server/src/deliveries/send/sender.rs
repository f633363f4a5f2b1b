//! Makes one attempt: one POST, signed over exactly the bytes that are sent, within one deadline.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use domain::{
    Timestamp,
    delivery::{Cause, body::body, diagnosis::Trouble},
};
use hyper::HeaderMap;
use hyper_util::{
    client::legacy::{Client, connect::capture_connection},
    rt::{TokioExecutor, TokioTimer},
};
use journal::record::{Job, SecretUsed};
use tokio::time::{Instant, timeout_at};

use super::{
    Sent, answer,
    connect::Connector,
    connection::micros,
    head::Head,
    request::{NotedBody, request},
    resolve::Resolver,
    signing::{Message, Signing, Unsigned},
    target::TargetPolicy,
    trouble,
};
use crate::config::ENDPOINT_CONCURRENCY_MOST;

/// Everything, from resolving the name to the last byte read of the answer.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle connections are kept this long, and as many for each endpoint as it may have in flight.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
const IDLE_MAX: usize = ENDPOINT_CONCURRENCY_MOST as usize;
/// What a connection may buffer, and so the longest head of an answer.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// Sends webhooks. Cheap to clone.
#[derive(Clone)]
pub struct Sender {
    client: Client<Connector, NotedBody>,
    policy: Arc<TargetPolicy>,
    signing: Signing,
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
