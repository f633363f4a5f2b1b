//! A webhook receiver that keeps every delivery as it came and answers, or misbehaves, as the test says.
//!
//! It runs on a thread of its own, so it answers whatever the test is doing, and it verifies
//! nothing: what to expect of a delivery is the test's business.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::answer::{Answer, AnswerBody};
use crate::certificates::Identity;
use crate::received::{Arrival, Keeps, Kept, Log, Received};

/// Far above the largest delivery; a body beyond it is a fault that should show.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A running receiver. Dropping it closes its port and its connections.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    log: Arc<Log>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    /// Starts one on a free port; it answers 200 until told otherwise.
    pub fn start() -> anyhow::Result<Self> {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Starts one at this address, for instance where another one was before.
    pub fn start_at(address: SocketAddr) -> anyhow::Result<Self> {
        Self::run(address, None, Keeps::Everything)
    }

    /// Starts one that speaks TLS.
    pub fn start_secured(identity: Identity) -> anyhow::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self::run(address, Some(identity), Keeps::Everything)
    }

    /// Starts one for a load: it keeps an [`Arrival`] of each request, and neither headers nor body.
    pub fn start_light() -> anyhow::Result<Self> {
        Self::start_light_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// The same at this address.
    pub fn start_light_at(address: SocketAddr) -> anyhow::Result<Self> {
        Self::run(address, None, Keeps::Arrivals)
    }

    fn run(address: SocketAddr, identity: Option<Identity>, keeps: Keeps) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).with_context(|| format!("bind {address}"))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let log = Arc::new(Log::new(keeps));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let serving = serve(listener, identity, Arc::clone(&log));
        let thread = std::thread::Builder::new()
            .name("receiver".to_owned())
            // Dropping the runtime ends the connections too, even those that wait for an answer.
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        _ = stopped => {}
                        () = serving => {}
                    }
                });
            })?;
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
        self.url_of("/hook")
    }

    /// The same with a path of the test's choice, for [`Receiver::answer_at`].
    pub fn url_of(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Answers everything from now on with this status.
    pub fn answer_with(&self, status: u16) {
        self.answer_always(Answer::status(status));
    }

    /// Answers everything from now on like this.
    pub fn answer_always(&self, answer: Answer) {
        self.lock().script.always(answer);
    }

    /// Answers the next requests with these statuses, one each, and 200 after that.
    pub fn answer_sequence(&self, statuses: impl IntoIterator<Item = u16>) {
        let answers = statuses.into_iter().map(Answer::status);
        self.lock().script.sequence(answers);
    }

    /// Lets the test choose the answer by looking at the request.
    pub fn answer_by(&self, choose: impl FnMut(&Received) -> Answer + Send + 'static) {
        self.lock().script.by(Box::new(choose));
    }

    /// Answers what comes to this path from now on like this, whatever is said about the others.
    pub fn answer_at(&self, path: &str, answer: Answer) {
        self.lock().script.at(path, answer);
    }

    /// Everything so far, in the order of arrival.
    pub fn received(&self) -> Vec<Arc<Received>> {
        assert_eq!(self.log.keeps, Keeps::Everything, "it keeps arrivals only");
        self.lock().received.clone()
    }

    /// What is kept of everything so far by a light receiver as well, in the order of arrival.
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.lock().arrivals.clone()
    }

    /// How many requests arrived.
    pub fn count(&self) -> usize {
        *self.log.count.borrow()
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.log.connections.load(Ordering::Relaxed)
    }

    /// How many bytes of trickled and endless answers the network took.
    pub fn bytes_handed_over(&self) -> u64 {
        self.log.handed_over.load(Ordering::Relaxed)
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
        self.wait_for_count(count, deadline).await;
        self.received()
    }

    /// The same for a light receiver.
    pub async fn wait_for_count(&self, count: usize, deadline: Duration) {
        let mut counted = self.log.count.subscribe();
        let waited = tokio::time::timeout(deadline, counted.wait_for(|now| *now >= count)).await;
        assert!(
            waited.is_ok(),
            "{} of {count} deliveries arrived within {deadline:?}",
            self.count()
        );
    }

    /// Forgets what has been received.
    pub fn clear(&self) {
        let mut kept = self.lock();
        kept.received.clear();
        kept.arrivals.clear();
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

async fn serve(listener: TcpListener, identity: Option<Identity>, log: Arc<Log>) {
    let listener = tokio::net::TcpListener::from_std(listener)
        .expect("the listener is fit for a runtime: it does not block");
    let mut conversations = JoinSet::new();
    loop {
        while conversations.try_join_next().is_some() {}
        // What fails here is one connection that was gone already, or a lack of file handles.
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        log.connections.fetch_add(1, Ordering::Relaxed);
        let _ = stream.set_nodelay(true);
        let (identity, log) = (identity.clone(), Arc::clone(&log));
        conversations.spawn(async move {
            let Some(Identity(config)) = identity else {
                return converse(TokioIo::new(stream), peer, log).await;
            };
            // A client that does not believe us is no news either.
            if let Ok(stream) = TlsAcceptor::from(config).accept(stream).await {
                converse(TokioIo::new(stream), peer, log).await;
            }
        });
    }
}

/// Answers the requests of one connection until either side closes it.
async fn converse<S>(stream: S, peer: SocketAddr, log: Arc<Log>)
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let service = service_fn(|request| keep_and_answer(&log, peer, request));
    // A client that goes away is no news here.
    let _ = http1::Builder::new()
        .serve_connection(stream, service)
        .await;
}

async fn keep_and_answer(
    log: &Log,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<AnswerBody>, HungUp> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
    let body = body.map_err(|_| HungUp)?.to_bytes();
    let answer = log.keep(peer, head, body);
    answer.give(&log.handed_over).await.ok_or(HungUp)
}

/// The connection is closed without an answer.
#[derive(Debug)]
struct HungUp;

impl std::fmt::Display for HungUp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the receiver hung up")
    }
}

impl std::error::Error for HungUp {}
