//! Makes one attempt: one POST, signed over exactly the bytes that are sent, within one deadline.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use domain::{
    DeliveryId, OrgId, Timestamp,
    delivery::{Cause, body::body, diagnosis::Trouble, ownership},
};
use hyper::HeaderMap;
use hyper_util::{
    client::legacy::{Client, connect::capture_connection},
    rt::{TokioExecutor, TokioTimer},
};
use journal::record::{Job, SecretUsed};
use runtime::random;
use tokio::time::{Instant, timeout_at};

use super::{
    Sent, answer,
    connect::Connector,
    connection::micros,
    error,
    headers::Head,
    request::{NotedBody, request},
    resolve::Resolver,
    signing::{Message, Signing, Unsigned},
    target::TargetPolicy,
};

/// Everything, from resolving the name to the last byte read of the answer.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle connections are kept this long, and so many for each host: as many as a worker has sends in flight unless it is told
/// otherwise. All customers of one host share them, and with fewer most sends would have to connect first.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
const IDLE_PER_HOST_MAX: usize = 1_024;
/// What a connection may buffer, and so the longest head of an answer.
const BUFFER_BYTES_MAX: usize = 64 * 1024;
/// `X-Service-Trigger` of what is no delivery.
const CHALLENGE_TRIGGER: &str = "verification";

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
            .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
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
        let body = body(matched.rule, &matched.rule_name, &job.json, signed_at);
        self.post((matched.org, &matched.url), head, body).await
    }

    /// The challenge of this number that an endpoint is to give back, signed like every delivery.
    pub async fn challenge(
        &self,
        to: (OrgId, &str),
        challenge: &str,
        number: u32,
        signed_at: Timestamp,
    ) -> Sent {
        let head = Head {
            delivery: DeliveryId::new(signed_at, random::bytes()),
            event_type: ownership::EVENT_TYPE,
            signed_at,
            attempt: number,
            trigger: CHALLENGE_TRIGGER,
            suppressed: None,
        };
        let body = ownership::body(challenge, signed_at);
        self.post(to, head, body).await
    }

    async fn post(&self, (org, url): (OrgId, &str), head: Head<'_>, body: String) -> Sent {
        let mut sent = Sent::nothing_yet(&body);
        // The operator may have forbidden the address since the rule was made.
        let uri = match self.policy.parse(url) {
            Ok(uri) => uri,
            Err(refusal) => return sent.troubled(&Trouble::Forbidden(refusal.to_string())),
        };
        let headers = match self.signed(org, &head, &body) {
            Ok((headers, secrets)) => {
                sent.secrets = secrets;
                headers
            }
            Err(unsigned) => return sent.unsigned(&unsigned),
        };
        let (mut request, handed_over) = request(uri, headers, body);
        let connection = capture_connection(&mut request);
        let started = Instant::now();
        let deadline = started + TOTAL_TIMEOUT;
        let answered = timeout_at(deadline, self.client.request(request)).await;
        sent.note_connection(started, &connection, &handed_over);
        match answered {
            Ok(Ok(response)) => {
                let answered = Instant::now();
                sent.timings.answered_us = Some(micros(started, answered));
                sent.read_head(&response, head.signed_at.plus(answered - started));
                // Decided by the headers: whatever happens to the body, a 200 stays a 200.
                sent.answer_text = answer::read(response.into_body(), deadline).await;
                sent
            }
            Ok(Err(error)) => {
                sent.remote_address = sent.remote_address.or(error::address(&error));
                sent.troubled(&error::read(&error))
            }
            Err(_) if handed_over.at().is_some() => sent.troubled(&Trouble::NoAnswer),
            Err(_) => sent.troubled(&Trouble::NotSent),
        }
    }

    /// The headers, and the secrets that signed.
    fn signed(
        &self,
        org: OrgId,
        head: &Head<'_>,
        body: &str,
    ) -> Result<(HeaderMap, Vec<SecretUsed>), Unsigned> {
        let headers = head.headers();
        let mut headers = headers.expect("ids, names of types, times and numbers are plain ASCII");
        let message = Message {
            delivery: head.delivery,
            signed_at: head.signed_at,
            body,
        };
        let secrets = self.signing.sign(&mut headers, org, message)?;
        Ok((headers, secrets))
    }
}
