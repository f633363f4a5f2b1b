//! The request of one attempt as it goes out: its head, the bytes that were signed, and what carries them.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Request, Uri,
    body::{Body, Bytes, Frame, SizeHint},
    http::{
        HeaderValue,
        header::{ACCEPT_ENCODING, USER_AGENT},
    },
};
use tokio::time::Instant;

const OUR_NAME: &str = concat!("Watchbell/", env!("CARGO_PKG_VERSION"));

/// The request that carries this head and body, and when its body is handed over.
pub fn request(uri: Uri, headers: HeaderMap, body: String) -> (Request<NotedBody>, HandedOver) {
    let handed_over = HandedOver::default();
    let mut request = Request::new(NotedBody {
        body: Full::new(Bytes::from(body)),
        handed_over: handed_over.clone(),
    });
    (*request.method_mut(), *request.uri_mut()) = (Method::POST, uri);
    *request.headers_mut() = headers;
    let carrying = [
        (USER_AGENT, OUR_NAME),
        // What is kept of the answer should be readable, and cannot grow by being unpacked.
        (ACCEPT_ENCODING, "identity"),
    ];
    let carrying = carrying.map(|(name, value)| (name, HeaderValue::from_static(value)));
    request.headers_mut().extend(carrying);
    (request, handed_over)
}

/// A body that notes when it was handed to the connection.
pub struct NotedBody {
    body: Full<Bytes>,
    handed_over: HandedOver,
}

/// When a body was handed over, if it was. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct HandedOver(Arc<OnceLock<Instant>>);

impl HandedOver {
    pub fn at(&self) -> Option<Instant> {
        self.0.get().copied()
    }
}

impl Body for NotedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.handed_over.0.get_or_init(Instant::now);
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
