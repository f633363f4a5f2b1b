//! A webhook receiver that keeps every delivery as it came and answers as the test says.
//!
//! It runs on a thread of its own, so it answers whatever the test is doing, and it verifies
//! nothing: what to expect of a delivery is the test's business.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::Response;
use bytes::Bytes;
use tokio::sync::{oneshot, watch};

/// Far above the largest delivery; a body beyond it is a fault that should show.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// One request, exactly as received.
#[derive(Debug)]
pub struct Received {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    /// The bytes that were signed.
    pub body: Bytes,
    /// When the whole body was there.
    pub arrived: Instant,
    pub arrived_at: SystemTime,
    /// The status that it was, or will be, answered with.
    pub answered: StatusCode,
}

/// How to answer one request.
#[derive(Clone, Debug)]
pub struct Answer {
    status: StatusCode,
    headers: Vec<(String, String)>,
    body: Bytes,
    delay: Duration,
}

/// A running receiver. Dropping it closes its port and its connections.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    log: Arc<Log>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread that answers and the test share.
#[derive(Debug)]
struct Log {
    kept: Mutex<Kept>,
    /// How many have been received, for who waits.
    count: watch::Sender<usize>,
}

#[derive(Debug)]
struct Kept {
    received: Vec<Arc<Received>>,
    script: Script,
}

struct Script {
    /// Used up first, one by one.
    next: VecDeque<Answer>,
    otherwise: Otherwise,
}

type Chooser = Box<dyn FnMut(&Received) -> Answer + Send>;

enum Otherwise {
    Always(Answer),
    By(Chooser),
}

impl Receiver {
    /// Starts one on a free port; it answers 200 until told otherwise.
    pub fn start() -> anyhow::Result<Self> {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Starts one at this address, for instance where another one was before.
    pub fn start_at(address: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).with_context(|| format!("bind {address}"))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let log = Arc::new(Log {
            kept: Mutex::new(Kept {
                received: Vec::new(),
                script: Script::default(),
            }),
            count: watch::Sender::new(0),
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let app = Router::new()
            .fallback(keep_and_answer)
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
            .with_state(Arc::clone(&log));
        let serve = async move {
            let listener = tokio::net::TcpListener::from_std(listener)
                .expect("the listener is fit for a runtime: it does not block");
            tokio::select! {
                _ = stopped => {}
                ended = axum::serve(listener, app) => ended.expect("axum serves until it is dropped"),
            }
        };
        let thread = std::thread::Builder::new()
            .name("receiver".to_owned())
            // Dropping the runtime ends the connections too, even those that wait for an answer.
            .spawn(move || runtime.block_on(serve))?;
        Ok(Self {
            address,
            log,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address to give to a rule. Any path below it is received as well.
    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Answers everything from now on with this status.
    pub fn answer_with(&self, status: u16) {
        self.answer_always(Answer::status(status));
    }

    /// Answers everything from now on like this.
    pub fn answer_always(&self, answer: Answer) {
        self.lock().script = Script::from(Otherwise::Always(answer));
    }

    /// Answers the next requests with these statuses, one each, and 200 after that.
    pub fn answer_sequence(&self, statuses: impl IntoIterator<Item = u16>) {
        let next = statuses.into_iter().map(Answer::status).collect();
        self.lock().script = Script {
            next,
            ..Script::default()
        };
    }

    /// Lets the test choose the answer by looking at the request.
    pub fn answer_by(&self, choose: impl FnMut(&Received) -> Answer + Send + 'static) {
        self.lock().script = Script::from(Otherwise::By(Box::new(choose)));
    }

    /// Everything so far, in the order of arrival.
    pub fn received(&self) -> Vec<Arc<Received>> {
        self.lock().received.clone()
    }

    pub fn count(&self) -> usize {
        *self.log.count.borrow()
    }

    /// Those that `is_meant` picks, for instance by [`Received::delivery_id`].
    pub fn received_where(&self, is_meant: impl Fn(&Received) -> bool) -> Vec<Arc<Received>> {
        self.received()
            .into_iter()
            .filter(|received| is_meant(received))
            .collect()
    }

    /// Waits until at least `count` requests have arrived and returns all that have; panics when
    /// they have not within `deadline`.
    pub async fn wait_for(&self, count: usize, deadline: Duration) -> Vec<Arc<Received>> {
        let mut counted = self.log.count.subscribe();
        let waited = tokio::time::timeout(deadline, counted.wait_for(|now| *now >= count)).await;
        let arrived = self.received();
        assert!(
            waited.is_ok(),
            "{} of {count} deliveries arrived within {deadline:?}",
            arrived.len()
        );
        arrived
    }

    /// Forgets what has been received.
    pub fn clear(&self) {
        self.lock().received.clear();
        self.log.count.send_replace(0);
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.log.lock()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there has been printed already; a second one here would hide the test's.
            let _ = thread.join();
        }
    }
}

impl Received {
    /// The value of a header, if it is there once and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let first = values.next()?.to_str().ok()?;
        values.next().is_none().then_some(first)
    }

    /// The same for all attempts of one delivery.
    pub fn delivery_id(&self) -> Option<&str> {
        self.header("x-service-delivery-id")
    }

    /// The body as JSON; `Null` when it is not.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn rule_id(&self) -> Option<String> {
        Some(self.json()["rule_id"].as_str()?.to_owned())
    }

    pub fn event_id(&self) -> Option<String> {
        Some(self.json()["event"]["id"].as_str()?.to_owned())
    }
}

impl Answer {
    /// An empty answer with this status.
    pub fn status(status: u16) -> Self {
        Self {
            status: StatusCode::from_u16(status).expect("a test answers with a real status"),
            headers: Vec::new(),
            body: Bytes::new(),
            delay: Duration::ZERO,
        }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Answers this long after the request has arrived.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

async fn keep_and_answer(
    State(log): State<Arc<Log>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let answer = log.keep(method, uri, headers, body);
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    response
        .body(Body::from(answer.body))
        .expect("a test answers with headers that are valid")
}

impl Log {
    fn keep(&self, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Answer {
        let mut received = Received {
            method,
            uri,
            headers,
            body,
            arrived: Instant::now(),
            #[expect(
                clippy::disallowed_methods,
                reason = "it is compared with signed times"
            )]
            arrived_at: SystemTime::now(),
            answered: StatusCode::OK,
        };
        let mut kept = self.lock();
        let answer = kept.script.next(&received);
        received.answered = answer.status;
        kept.received.push(Arc::new(received));
        let count = kept.received.len();
        drop(kept);
        // Requests are handled on one thread, so counts are published in order.
        self.count.send_replace(count);
        answer
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept
            .lock()
            .expect("the chooser of the test panicked; its message is above")
    }
}

impl Script {
    fn next(&mut self, received: &Received) -> Answer {
        if let Some(answer) = self.next.pop_front() {
            return answer;
        }
        match &mut self.otherwise {
            Otherwise::Always(answer) => answer.clone(),
            Otherwise::By(choose) => choose(received),
        }
    }
}

impl Default for Script {
    fn default() -> Self {
        Self::from(Otherwise::Always(Answer::status(200)))
    }
}

impl From<Otherwise> for Script {
    fn from(otherwise: Otherwise) -> Self {
        Self {
            next: VecDeque::new(),
            otherwise,
        }
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Script")
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}
