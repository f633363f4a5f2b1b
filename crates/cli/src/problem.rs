//! Why a server refused, as the person at the terminal reads it: a sentence, the places, what to do, the request's id.

use std::fmt;

use domain::error_code::ErrorCode;
use reqwest::{Response, StatusCode, header::LOCATION};
use serde::Deserialize;

use crate::table::plain;

/// How much of an answer that is not ours is shown.
const STRANGE_CHARS_MAX: usize = 200;

/// An answer that is no success.
#[derive(Debug, thiserror::Error)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// The body as it was answered.
    pub(crate) text: String,
    body: Option<Body>,
    elsewhere: Option<String>,
    /// The query that was sent, to show where it is wrong.
    query: Option<String>,
    request_id: Option<String>,
}

/// RFC 9457, with our extensions.
#[derive(Debug, Deserialize)]
struct Body {
    detail: String,
    code: String,
    #[serde(default)]
    errors: Vec<Fault>,
}

/// One thing that is wrong with a request, and where.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Fault {
    pub(crate) pointer: String,
    pub(crate) code: String,
    pub(crate) detail: String,
    /// Which characters of a query are wrong.
    start: Option<usize>,
    end: Option<usize>,
}

impl Fault {
    /// The query it is about, with a line beneath the part that is wrong.
    fn underlined(&self, query: &str) -> Option<String> {
        let (start, end) = (self.start?, self.end?);
        // As wide as it is shown: a hidden letter takes several.
        let width = |skipped: usize, taken: usize| {
            let part: String = query.chars().skip(skipped).take(taken).collect();
            plain(&part).chars().count()
        };
        let indent = " ".repeat(width(0, start));
        let line = "^".repeat(width(start, end.saturating_sub(start)).max(1));
        (self.pointer == "?filter").then(|| format!("\n    {}\n    {indent}{line}", plain(query)))
    }
}

impl Problem {
    pub(crate) async fn read(response: Response) -> Self {
        let header = |name: &str| {
            let value = response.headers().get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        let (status, request_id) = (response.status(), header("x-request-id"));
        let elsewhere = header(LOCATION.as_str()).filter(|_| status.is_redirection());
        let mut parameters = response.url().query_pairs();
        let query =
            parameters.find_map(|(name, value)| (name == "filter").then(|| value.into_owned()));
        let text = response.text().await.unwrap_or_default();
        Self {
            status,
            body: serde_json::from_str(&text).ok(),
            text,
            elsewhere,
            query,
            request_id,
        }
    }

    /// What is wrong, if the server says where.
    pub(crate) fn faults(&self) -> &[Fault] {
        self.body.as_ref().map_or(&[], |body| &body.errors)
    }

    /// Whether it says only that the server, or one behind a proxy, cannot answer just now.
    pub(crate) fn is_away(&self) -> bool {
        matches!(
            self.status,
            StatusCode::REQUEST_TIMEOUT
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        )
    }

    /// On one line.
    pub(crate) fn in_short(&self) -> String {
        match &self.body {
            Some(body) => plain(&body.detail),
            None => format!("the server answered {}", self.status.as_u16()),
        }
    }

    pub(crate) fn is(&self, code: ErrorCode) -> bool {
        self.body
            .as_ref()
            .is_some_and(|body| body.code == code.as_str())
    }
}

impl Problem {
    /// For an answer that is not one of ours.
    fn tell_stranger(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.as_u16();
        if let Some(url) = &self.elsewhere {
            let url = plain(url);
            return write!(
                f,
                "the server redirected ({status}) to {url}\n  What to do: If that is the right server, pass it with --url."
            );
        }
        let beginning: String = self.text.chars().take(STRANGE_CHARS_MAX).collect();
        write!(
            f,
            "the server answered {status}, but not as Watchbell would: {}",
            plain(&beginning)
        )?;
        f.write_str(if self.is_away() {
            "\n  What to do: Try again in a moment. If it keeps happening, check --url and everything between here and the server."
        } else {
            "\n  What to do: Check that --url is the address of a Watchbell server."
        })
    }
}

/// What to do about a code. A person who has this program logs in by it.
fn what_to_do(code: &str) -> Option<&'static str> {
    Some(match ErrorCode::named(code)? {
        // Their sentence says it: how long to wait, what is possible now, what is gone.
        ErrorCode::RateLimited | ErrorCode::StateConflict | ErrorCode::Gone => return None,
        ErrorCode::Forbidden => {
            "Use a key that has the scope it names. For what only people may do, log in as one: `watchbell login --email`."
        }
        ErrorCode::PreconditionFailed => {
            "Look at it as it is now; if your change is still right, repeat it for that version."
        }
        ErrorCode::Unauthenticated => {
            "Run `watchbell login`, with --email if you log in as a person, or set WATCHBELL_API_KEY to a key of your organization."
        }
        ErrorCode::NotFound => "Check the id against a list, and --url.",
        known => known.what_to_do(),
    })
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.as_u16();
        let Some(body) = &self.body else {
            return self.tell_stranger(f);
        };
        write!(
            f,
            "{} ({status} {})",
            plain(&body.detail),
            plain(&body.code)
        )?;
        match body.errors.as_slice() {
            [only] if only.detail == body.detail => {
                let query = self.query.as_deref();
                match query.and_then(|query| only.underlined(query)) {
                    Some(query) => f.write_str(&query)?,
                    None => write!(f, "\n  At: {}", plain(&only.pointer))?,
                }
            }
            faults => faults.iter().try_for_each(|fault| {
                write!(f, "\n  {}: {}", plain(&fault.pointer), plain(&fault.detail))
            })?,
        }
        // Faults say what to do themselves.
        let advice = what_to_do(&body.code).filter(|_| body.errors.is_empty());
        if let Some(advice) = advice {
            write!(f, "\n  What to do: {advice}")?;
        }
        match &self.request_id {
            Some(id) => write!(f, "\n  Request: {}", plain(id)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(body: &str) -> Problem {
        Problem {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            body: serde_json::from_str(body).ok(),
            text: body.to_owned(),
            elsewhere: None,
            query: None,
            request_id: Some("req_1".to_owned()),
        }
    }

    #[test]
    fn a_query_is_underlined_where_it_is_wrong() {
        let said = |query: &str, start: usize, end: usize| {
            let fault = format!(
                r#"{{"pointer": "?filter", "code": "X", "detail": "No.", "start": {start}, "end": {end}}}"#
            );
            let body = format!(r#"{{"detail": "No.", "code": "CONFLICT", "errors": [{fault}]}}"#);
            Problem {
                query: Some(query.to_owned()),
                ..problem(&body)
            }
            .to_string()
        };
        for (query, (start, end), shown) in [
            ("results:denied", (0, 7), "    results:denied\n    ^^^^^^^"),
            ("größe b:1", (6, 7), "    größe b:1\n          ^"),
            // A hidden character is shown as an escape.
            ("a\tbc:1", (2, 4), "    a\\tbc:1\n       ^^"),
            ("result:", (7, 7), "    result:\n           ^"),
            // A server that counts otherwise.
            ("a:1", (90_000, usize::MAX), "    a:1\n       ^"),
        ] {
            assert_eq!(
                said(query, start, end),
                format!("No. (422 CONFLICT)\n{shown}\n  Request: req_1"),
                "{query}"
            );
        }
    }

    #[test]
    fn a_problem_is_a_sentence_its_places_or_what_to_do_and_the_request() {
        let fault = r#"{"pointer": "/url", "code": "X", "detail": "`url` is required."}"#;
        let said = |detail: &str, code: &str, faults: &str| {
            problem(&format!(
                r#"{{"detail": "{detail}", "code": "{code}", "errors": [{faults}]}}"#
            ))
            .to_string()
        };
        assert_eq!(
            said("It was changed.", "CONFLICT", ""),
            "It was changed. (422 CONFLICT)\n  What to do: Read it again, reapply your change, and send it.\n  Request: req_1"
        );
        assert_eq!(
            said(
                "2 things are not valid.",
                "VALIDATION_FAILED",
                &format!("{fault}, {fault}")
            ),
            "2 things are not valid. (422 VALIDATION_FAILED)\n  /url: `url` is required.\n  \
             /url: `url` is required.\n  Request: req_1"
        );
        assert_eq!(
            said("`url` is required.", "VALIDATION_FAILED", fault),
            "`url` is required. (422 VALIDATION_FAILED)\n  At: /url\n  Request: req_1"
        );
    }

    #[test]
    fn an_answer_that_is_not_ours_is_shown_and_does_not_steer_the_terminal() {
        assert_eq!(
            problem("<html>\u{1b}[2J").to_string(),
            "the server answered 422, but not as Watchbell would: <html>\\u{1b}[2J\n  \
             What to do: Check that --url is the address of a Watchbell server."
        );
    }
}
