//! What is around every route, and what answers where there is none.

use std::time::Duration;

use axum::{
    Router,
    http::{HeaderMap, Method, StatusCode, Uri},
    middleware,
};
use domain::error_code::ErrorCode;
use tower_http::{catch_panic::CatchPanicLayer, timeout::TimeoutLayer};

use crate::{
    config,
    console::Console,
    edge::{
        Problem,
        envelope::{Envelope, envelope},
    },
};

/// What answers where no route does, and the layers around all of it, outermost last.
pub fn finished(app: Router, console: Option<Console>, request_timeout: Duration) -> Router {
    let otherwise = async move |method: Method, uri: Uri, headers: HeaderMap| {
        let console = console.as_ref();
        let answer = console.and_then(|console| console.answer(&method, &uri, &headers));
        answer.ok_or_else(|| Problem::new(ErrorCode::NotFound, "There is no such path."))
    };
    let app = app
        .fallback(otherwise)
        .layer(TimeoutLayer::with_status_code(
            StatusCode::REQUEST_TIMEOUT,
            request_timeout,
        ))
        .layer(CatchPanicLayer::new())
        .layer(middleware::from_fn_with_state(
            Envelope::new(config::otel_is_configured()),
            envelope,
        ));
    #[cfg(debug_assertions)]
    let app = app.layer(middleware::from_fn(crate::openapi::check::check));
    app
}
