//! Which request a line of the log is about. A span for each request would be paid by all of them, and lines are few: so a
//! request's facts are kept beside its task, and written when a line is.

use std::fmt::{self, Write as _};

use axum::{extract::MatchedPath, http::Method};
use serde_json::json;
use tokio::{task::futures::TaskLocalFuture, task_local};
use tracing::{Event, Subscriber};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::{Format, Full, Json, Writer},
    },
    registry::LookupSpan,
};

task_local! {
    static REQUEST: Facts;
}

/// What lines say of the request that they are about.
pub struct Facts {
    pub id: String,
    pub method: Method,
    pub route: Option<MatchedPath>,
}

/// What is done for a request: its lines say so.
pub fn about<F: Future>(request: Facts, work: F) -> TaskLocalFuture<Facts, F> {
    REQUEST.scope(request, work)
}

/// The name of a route in lines, spans and metrics.
pub fn name_of(route: Option<&MatchedPath>) -> &str {
    route.map_or("none", MatchedPath::as_str)
}

/// Writes lines as `F` does, and then which request they are about.
pub struct WithRequest<F>(pub F);

/// How a form of lines takes what is added to them.
pub trait Extend {
    /// `line` is all of it, but for the end of the line.
    fn extend(line: &mut String, request: &Facts) -> fmt::Result;
}

impl Extend for Format<Json> {
    /// As a span would be written.
    fn extend(line: &mut String, request: &Facts) -> fmt::Result {
        let span = json!({
            "http.method": request.method.as_str(),
            "http.route": name_of(request.route.as_ref()),
            "request.id": request.id,
            "name": "request",
        });
        let is_object = line.pop() == Some('}');
        debug_assert!(is_object, "a line of JSON is an object");
        write!(line, r#","spans":[{span}]}}"#)
    }
}

impl Extend for Format<Full> {
    fn extend(line: &mut String, request: &Facts) -> fmt::Result {
        let Facts { id, method, route } = request;
        let route = name_of(route.as_ref());
        write!(
            line,
            " request.id={id} http.method={method} http.route={route}"
        )
    }
}

impl<S, N, F> FormatEvent<S, N> for WithRequest<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'writer> FormatFields<'writer> + 'static,
    F: FormatEvent<S, N> + Extend,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let in_request = REQUEST.try_with(|request| {
            let mut line = String::new();
            let written = Writer::new(&mut line);
            self.0.format_event(context, written, event)?;
            line.truncate(line.trim_end().len());
            F::extend(&mut line, request)?;
            writeln!(writer, "{line}")
        });
        match in_request {
            Ok(written) => written,
            Err(_nowhere) => self.0.format_event(context, writer, event),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use super::*;

    /// What was written so far.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("nobody panicked").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_line_of_text_ends_with_the_request_that_it_is_about() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .map_event_format(|format| WithRequest(format.with_ansi(false)))
            .finish();
        let _subscribed = tracing::subscriber::set_default(subscriber);
        let request = Facts {
            id: "asked-17".to_owned(),
            method: Method::GET,
            route: None,
        };
        about(request, async { tracing::info!(rows = 3, "removed") }).await;
        tracing::info!("later");
        let lines = lines.0.lock().expect("nobody panicked").clone();
        let lines = String::from_utf8(lines).expect("a text");
        let ends: Vec<&str> = lines
            .lines()
            .filter_map(|line| Some(line.split_once("tests: ")?.1))
            .collect();
        let request = "request.id=asked-17 http.method=GET http.route=none";
        assert_eq!(
            ends,
            [&*format!("removed rows=3 {request}"), "later"],
            "{lines}"
        );
    }
}
