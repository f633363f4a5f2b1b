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
    body: Option<Body>,
    /// What was answered in place of a problem body.
    strange: String,
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

#[derive(Debug, Deserialize)]
struct Fault {
    pointer: String,
    detail: String,
}

impl Problem {
    pub(crate) async fn read(response: Response) -> Self {
        let header = |name: &str| {
            let value = response.headers().get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        let (status, request_id) = (response.status(), header("x-request-id"));
        let elsewhere = header(LOCATION.as_str()).filter(|_| status.is_redirection());
        let text = response.text().await.unwrap_or_default();
        let strange = match elsewhere {
            Some(url) => format!("it redirects to {url}; if that is right, say so with --url"),
            None => text.chars().take(STRANGE_CHARS_MAX).collect(),
        };
        Self {
            status,
            body: serde_json::from_str(&text).ok(),
            strange,
            request_id,
        }
    }

    pub(crate) fn is(&self, code: ErrorCode) -> bool {
        self.body
            .as_ref()
            .is_some_and(|body| body.code == code.as_str())
    }
}

/// What to do about a code. A person who has this program logs in by it.
fn what_to_do(code: &str) -> Option<&'static str> {
    let known = ErrorCode::ALL.iter().find(|known| known.as_str() == code)?;
    Some(match known {
        ErrorCode::Unauthenticated => {
            "Run `watchbell login`, or set WATCHBELL_API_KEY to a key of your organisation."
        }
        ErrorCode::NotFound => "Check the id against a list.",
        known => known.what_to_do(),
    })
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.as_u16();
        let Some(body) = &self.body else {
            write!(
                f,
                "the server answered {status}, and not as Watchbell does: {}",
                plain(&self.strange)
            )?;
            return f.write_str("\n  Check that --url is the address of a Watchbell server.");
        };
        write!(
            f,
            "{} ({status} {})",
            plain(&body.detail),
            plain(&body.code)
        )?;
        for fault in body
            .errors
            .iter()
            .filter(|fault| fault.detail != body.detail || !fault.pointer.is_empty())
        {
            write!(f, "\n  {}: {}", plain(&fault.pointer), plain(&fault.detail))?;
        }
        if let Some(advice) = what_to_do(&body.code) {
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
            strange: body.to_owned(),
            request_id: Some("req_1".to_owned()),
        }
    }

    #[test]
    fn a_problem_is_a_sentence_its_places_what_to_do_and_the_request() {
        let body = r#"{"detail": "2 things are not valid; see `errors`.", "code": "CONFLICT",
            "errors": [{"pointer": "/url", "code": "X", "detail": "`url` is required."}]}"#;
        assert_eq!(
            problem(body).to_string(),
            "2 things are not valid; see `errors`. (422 CONFLICT)\n  /url: `url` is required.\n  \
             What to do: Read it again, apply your change to what you find, and send that.\n  Request: req_1"
        );
    }

    #[test]
    fn an_answer_that_is_not_ours_is_shown_and_does_not_steer_the_terminal() {
        assert_eq!(
            problem("<html>\u{1b}[2J").to_string(),
            "the server answered 422, and not as Watchbell does: <html>\\u{1b}[2J\n  \
             Check that --url is the address of a Watchbell server."
        );
    }
}
