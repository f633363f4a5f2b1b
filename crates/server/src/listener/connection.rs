//! One connection, from its first byte to its end.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{Router, body::Body, extract::ConnectInfo, http::Request};
use http_body_util::BodyExt as _;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::TcpStream,
    pin,
    sync::watch,
    time::{sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// From one request to the end of the next one's head. Longer than the 60 s after which load
/// balancers close connections by themselves, so that they never use one that we are closing.
const HEAD_TIMEOUT: Duration = Duration::from_secs(75);
/// How long the first head may take: who has just connected wants something.
const FIRST_HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a head may be, and how much of a body is read at a time. As much as Node.js takes.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// How long requests in flight may go on once the process stops.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection without a request for this long gives its seat to who waits for one.
const IDLE_AT_LEAST: Duration = Duration::from_secs(2);

pub(super) struct Conversation {
    pub peer: SocketAddr,
    pub app: Router,
    pub patience: Duration,
    /// Changes whenever somebody waits for a seat.
    pub wanted: watch::Receiver<()>,
    pub stopping: CancellationToken,
}

impl Conversation {
    /// Answers until either side has had enough. How a connection ends is the client's business; what we did is counted
    /// elsewhere.
    pub(super) async fn hold(self, stream: TcpStream) {
        let Self {
            peer,
            app,
            patience,
            mut wanted,
            stopping,
        } = self;
        // Without it small answers wait for an acknowledgment. A socket that refuses is only slower.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(patience));
        let use_of = Use::new();
        let service = service_fn(|request: Request<Incoming>| {
            let in_flight = use_of.begin();
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            let answer = app.clone().oneshot(request);
            async move {
                // In flight until the last of its body is handed over to be sent.
                let answer = answer.await?;
                Ok::<_, std::convert::Infallible>(answer.map(|body| {
                    body.map_frame(move |frame| {
                        let _in_flight = &in_flight;
                        frame
                    })
                }))
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        pin!(connection);
        let first_head = sleep(FIRST_HEAD_TIMEOUT);
        pin!(first_head);
        let mut is_new = true;
        loop {
            tokio::select! {
                _ = connection.as_mut() => return,
                () = stopping.cancelled() => break,
                () = first_head.as_mut(), if is_new => {
                    if !use_of.has_begun() {
                        return;
                    }
                    is_new = false;
                }
                Ok(()) = wanted.changed() => {
                    if use_of.idle_for() >= IDLE_AT_LEAST {
                        break;
                    }
                }
            }
        }
        connection.as_mut().graceful_shutdown();
        let _ = timeout(FINISH_TIMEOUT, connection).await;
    }
}

/// How a connection is used. Cheap to clone.
#[derive(Clone)]
struct Use(Arc<Mutex<Used>>);

struct Used {
    requests: u64,
    in_flight: usize,
    /// When the last request ended, or the connection began.
    idle_since: Instant,
}

/// A request, until dropped.
struct InFlight(Use);

impl Use {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Used {
            requests: 0,
            in_flight: 0,
            idle_since: Instant::now(),
        })))
    }

    fn begin(&self) -> InFlight {
        self.with(|used| {
            used.requests += 1;
            used.in_flight += 1;
        });
        InFlight(self.clone())
    }

    fn has_begun(&self) -> bool {
        self.with(|used| used.requests > 0)
    }

    fn idle_for(&self) -> Duration {
        self.with(|used| match used.in_flight {
            0 => used.idle_since.elapsed(),
            _ => Duration::ZERO,
        })
    }

    fn with<T>(&self, look: impl FnOnce(&mut Used) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.with(|used| {
            used.in_flight -= 1;
            used.idle_since = Instant::now();
        });
    }
}
