//! Makes one attempt: one POST, signed over exactly the bytes that are sent, within one deadline.

use std::{error::Error as StdError, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context as _;
use domain::{
    Timestamp,
    delivery::{Answer, Cause, Outcome, body::body},
};
use hickory_resolver::{ResolverBuilder, TokioResolver};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    http::{HeaderMap, header},
};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        Client,
        connect::{HttpConnector, HttpInfo},
    },
    rt::{TokioExecutor, TokioTimer},
};
use journal::record::{Job, SecretUsed, Timings};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, timeout_at};

use super::{
    head::Head,
    signing::{Message, Signing},
    target::{Refusal, ResolveError, TargetPolicy, VettedResolver},
};

/// Everything, from resolving the name to the last byte read of the answer.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How much of an answer is read, and how much of that is kept.
const ANSWER_READ_MAX: usize = 64 * 1024;
const ANSWER_KEPT_MAX: usize = 8 * 1024;
/// How much is kept of what went wrong.
const ERROR_CHARS_MAX: usize = 1_000;
/// Idle connections are kept this long, this many for each endpoint.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
const IDLE_MAX: usize = 8;

const USER_AGENT: &str = concat!("Watchbell/", env!("CARGO_PKG_VERSION"));

/// Sends webhooks. Cheap to clone.
#[derive(Clone)]
pub struct Sender {
    client: Client<HttpsConnector<HttpConnector<VettedResolver>>, Full<Bytes>>,
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
    pub fn new(policy: Arc<TargetPolicy>, signing: Signing) -> anyhow::Result<Self> {
        let resolver = TokioResolver::builder_tokio()
            .and_then(ResolverBuilder::build)
            .context("read the system's DNS configuration")?;
        let resolver = VettedResolver::new(Arc::new(resolver), Arc::clone(&policy));
        let mut connector = HttpConnector::new_with_resolver(resolver);
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_platform_verifier(rustls::crypto::aws_lc_rs::default_provider())
            .context("read the system's certificates")?
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(IDLE_MAX)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self {
            client,
            policy,
            signing,
        })
    }

    /// One attempt, signed at `signed_at`. Never fails: every end is an outcome.
    pub async fn send(&self, job: &Job, signed_at: Timestamp) -> Sent {
        let body = body(
            job.matched.rule,
            &job.matched.rule_name,
            &job.json,
            signed_at,
        );
        let mut sent = Sent {
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
        };
        // The operator may have forbidden the address since the rule was made.
        let uri = match self.policy.parse(&job.matched.url) {
            Ok(url) => url.to_string(),
            Err(refusal) => return sent.refused(&refusal),
        };
        let mut headers = match head(job, signed_at).headers() {
            Ok(headers) => headers,
            Err(error) => return sent.failed(&format!("The request could not be made: {error}.")),
        };
        let message = Message {
            delivery: job.matched.delivery,
            signed_at,
            body: &body,
        };
        sent.secrets = match self.signing.sign(&mut headers, job.matched.org, message) {
            Ok(used) => used,
            // Ours to mend; the snapshot of secrets has logged it.
            Err(unsigned) => {
                return sent.failed(&format!("Watchbell could not sign it: {unsigned}."));
            }
        };
        let request = match request(&uri, headers, body) {
            Ok(request) => request,
            Err(error) => return sent.failed(&format!("The request could not be made: {error}.")),
        };
        let deadline = Instant::now() + TOTAL_TIMEOUT;
        let response = match timeout_at(deadline, self.client.request(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return sent.not_answered(&error),
            Err(_) => {
                sent.timed_out = true;
                return sent.failed("The receiver did not answer within 10 s.");
            }
        };
        sent.read_head(&response);
        // Decided by the headers: whatever happens to the body, a 200 stays a 200.
        sent.answer_text = timeout_at(deadline, read_answer(response))
            .await
            .unwrap_or_default();
        sent
    }
}

fn head(job: &Job, signed_at: Timestamp) -> Head<'_> {
    Head {
        delivery: job.matched.delivery,
        event_type: &job.matched.event_type,
        signed_at,
        attempt: job.attempt,
        trigger: job.trigger.as_str(),
        suppressed: match job.matched.cause {
            Cause::Summary { suppressed } => Some(suppressed),
            Cause::Match | Cause::Test => None,
        },
    }
}

fn request(
    uri: &str,
    headers: HeaderMap,
    body: String,
) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
    let mut request = Request::post(uri)
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::ACCEPT_ENCODING, "identity")
        .body(Full::new(Bytes::from(body)))?;
    request.headers_mut().extend(headers);
    Ok(request)
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

    fn refused(mut self, refusal: &Refusal) -> Self {
        self.outcome = Outcome::Blocked;
        self.error = Some(refusal.to_string());
        self
    }

    fn failed(mut self, error: &str) -> Self {
        // It may quote what the receiver sent, its certificate say.
        let kept: String = error.chars().take(ERROR_CHARS_MAX).collect();
        self.error = Some(without_nul(&kept));
        self
    }

    fn not_answered(self, error: &hyper_util::client::legacy::Error) -> Self {
        if let Some(ResolveError::Forbidden(refusal)) = cause::<ResolveError>(error) {
            return self.refused(refusal);
        }
        let root = crate::error_chain::chain(error);
        let what = if error.is_connect() {
            "No connection to the receiver"
        } else {
            "The receiver gave no answer"
        };
        self.failed(&format!("{what}: {root}."))
    }

    fn read_head(&mut self, response: &Response<Incoming>) {
        let status = response.status().as_u16();
        self.status = Some(status);
        self.outcome = Outcome::of_status(status);
        self.remote_address = response
            .extensions()
            .get::<HttpInfo>()
            .map(HttpInfo::remote_addr);
        self.error = match self.outcome {
            Outcome::Delivered => None,
            Outcome::Redirect => Some(format!(
                "The receiver answered {status}; redirects are never followed. Set the rule's `url` to the final address."
            )),
            _ => Some(explain(status)),
        };
    }
}

/// What a status most likely means for a receiver written to the contract.
fn explain(status: u16) -> String {
    let hint = match status {
        400 => " It may have found the timestamp stale or missing: check the receiver's clock.",
        401 => {
            " It may have found the signature wrong: check that it has the current signing secret and verifies the raw body."
        }
        413 => " It finds the body too large; it is not tried again.",
        429 => " It asks for a slower pace.",
        _ => "",
    };
    format!("The receiver answered {status}.{hint}")
}

/// PostgreSQL text cannot hold NUL.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// The first bytes of the answer, as text.
async fn read_answer(response: Response<Incoming>) -> String {
    let mut body = response.into_body();
    let (mut kept, mut read) = (Vec::new(), 0);
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else {
            continue;
        };
        read += data.len();
        let room = ANSWER_KEPT_MAX - kept.len();
        kept.extend_from_slice(&data[..data.len().min(room)]);
        if read > ANSWER_READ_MAX {
            break;
        }
    }
    without_nul(&String::from_utf8_lossy(&kept))
}

/// The cause of a kind, wherever it is in the chain.
fn cause<'e, E: StdError + 'static>(error: &'e (dyn StdError + 'static)) -> Option<&'e E> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        current = error.source();
    }
    None
}
