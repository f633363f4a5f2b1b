//! How a receiver answers: well, badly, slowly, without end, or not at all.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt as _};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Either, Full, StreamBody};
use hyper::body::Frame;
use hyper::{Response, StatusCode};

use crate::received::Received;

/// How much an endless answer hands over at a time.
const PIECE: &[u8] = &[b'x'; 64 * 1024];

/// The body of an answer: at once, or piece by piece.
pub(crate) type AnswerBody = Either<Full<Bytes>, UnsyncBoxBody<Bytes, Infallible>>;

/// How to answer one request.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) delay: Duration,
    headers: Vec<(String, String)>,
    how: How,
}

#[derive(Clone, Debug)]
enum How {
    Whole(Bytes),
    Trickled { every: Duration },
    Endless { bytes: u64 },
    Never,
    HangUp,
}

impl Answer {
    /// An empty answer with this status.
    pub fn status(status: u16) -> Self {
        Self {
            status: StatusCode::from_u16(status).expect("a test answers with a real status"),
            headers: Vec::new(),
            delay: Duration::ZERO,
            how: How::Whole(Bytes::new()),
        }
    }

    /// Takes the request and never answers.
    pub fn never() -> Self {
        Self {
            how: How::Never,
            ..Self::status(200)
        }
    }

    /// Takes the request and closes the connection instead of answering.
    pub fn hang_up() -> Self {
        Self {
            how: How::HangUp,
            ..Self::status(200)
        }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.how = How::Whole(body.into());
        self
    }

    /// The body comes one byte each `every`, and never ends.
    pub fn trickled(mut self, every: Duration) -> Self {
        self.how = How::Trickled { every };
        self
    }

    /// The body has this many bytes, as fast as they are taken.
    pub fn endless(mut self, bytes: u64) -> Self {
        self.how = How::Endless { bytes };
        self
    }

    /// Answers this long after the request has arrived.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The answer, once its delay is over; `None` if there is none and the connection is to be closed.
    /// What is handed over piece by piece is counted.
    pub(crate) async fn give(self, handed_over: &Arc<AtomicU64>) -> Option<Response<AnswerBody>> {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        let body = match self.how {
            How::Whole(body) => Either::Left(Full::new(body)),
            How::Trickled { every } => piecewise(trickle(every), handed_over),
            How::Endless { bytes } => piecewise(pieces(bytes), handed_over),
            How::Never => std::future::pending().await,
            How::HangUp => return None,
        };
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        let response = response.body(body);
        Some(response.expect("a test answers with headers that are valid"))
    }
}

fn trickle(every: Duration) -> impl Stream<Item = Bytes> + Send + 'static {
    stream::unfold(every, |every| async move {
        tokio::time::sleep(every).await;
        Some((Bytes::from_static(b"."), every))
    })
}

fn pieces(bytes: u64) -> impl Stream<Item = Bytes> + Send + 'static {
    stream::iter(0..bytes / PIECE.len() as u64).map(|_| Bytes::from_static(PIECE))
}

fn piecewise(
    pieces: impl Stream<Item = Bytes> + Send + 'static,
    handed_over: &Arc<AtomicU64>,
) -> AnswerBody {
    let handed_over = Arc::clone(handed_over);
    let frames = pieces.map(move |piece| {
        handed_over.fetch_add(piece.len() as u64, Ordering::Relaxed);
        Ok(Frame::data(piece))
    });
    Either::Right(StreamBody::new(frames).boxed_unsync())
}

/// Which answer comes next.
pub(crate) struct Script {
    /// By path; these come before everything else.
    at: HashMap<String, Answer>,
    /// Used up first, one by one.
    next: VecDeque<Answer>,
    otherwise: Otherwise,
}

type Chooser = Box<dyn FnMut(&Received) -> Answer + Send>;

enum Otherwise {
    Always(Answer),
    By(Chooser),
}

impl Script {
    pub(crate) fn always(&mut self, answer: Answer) {
        (self.next, self.otherwise) = (VecDeque::new(), Otherwise::Always(answer));
    }

    pub(crate) fn sequence(&mut self, answers: impl Iterator<Item = Answer>) {
        self.always(Answer::status(200));
        self.next = answers.collect();
    }

    pub(crate) fn by(&mut self, choose: Chooser) {
        (self.next, self.otherwise) = (VecDeque::new(), Otherwise::By(choose));
    }

    pub(crate) fn at(&mut self, path: &str, answer: Answer) {
        self.at.insert(path.to_owned(), answer);
    }

    pub(crate) fn next(&mut self, received: &Received) -> Answer {
        if let Some(answer) = self.at.get(received.uri.path()) {
            return answer.clone();
        }
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
        Self {
            at: HashMap::new(),
            next: VecDeque::new(),
            otherwise: Otherwise::Always(Answer::status(200)),
        }
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Script")
            .field("at", &self.at)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}
