//! An error as a client sees it: RFC 9457, with a stable code and what to do next.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{
    error_code::ErrorCode,
    fault::Fault,
    limit::{Operation, Quota},
    query,
};
use runtime::error_chain::chain;
use serde::Serialize;
use utoipa::ToSchema;

use super::error_page;
use crate::snapshots::guards::Unknown;

/// How long a client should wait before it asks a server again that lacks a dependency.
const RETRY_AFTER_S: u64 = 2;

/// Why a request was refused. Handlers return it; the envelope writes it.
#[derive(Clone, Debug)]
pub struct Problem {
    code: ErrorCode,
    detail: String,
    errors: Vec<Fault>,
    retry_after_s: Option<u64>,
}

/// The body of every error.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// Identifies the error code. `/errors/` and the code, on this server, is a page that explains it.
    r#type: String,
    title: &'static str,
    status: u16,
    /// What went wrong with this request, and what to do next.
    detail: String,
    /// Stable; one of the documented codes.
    #[schema(value_type = super::enums::ErrorCodeWord, example = "VALIDATION_FAILED")]
    code: &'static str,
    /// Also in `X-Request-Id`; quote it when you ask for help.
    request_id: String,
    /// What is wrong and where: for events, the first invalid field of each; otherwise, every invalid field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<FaultBody>)]
    errors: Vec<Fault>,
}

/// One invalid field.
#[derive(Serialize, ToSchema)]
#[schema(as = Fault)]
pub struct FaultBody {
    #[schema(value_type = super::enums::FaultWord, example = "FIELD_REQUIRED")]
    code: String,
    /// An RFC 6901 pointer into the body, or `?name` for a parameter.
    #[schema(example = "/action")]
    pointer: String,
    detail: String,
    /// Where a query is wrong: the first character, counted from 0.
    start: Option<usize>,
    /// The end of that part of the query, exclusive; equal to `start` where something is missing.
    end: Option<usize>,
    /// What to write there instead, if that is known.
    #[schema(example = "result")]
    instead: Option<String>,
}

impl Problem {
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            retry_after_s: is_to_be_sent_again(code).then_some(RETRY_AFTER_S),
        }
    }

    /// The same, and when to send the request again.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        Self {
            retry_after_s: Some(seconds),
            ..self
        }
    }

    /// Too many requests of one kind (spec section 7): wait this many seconds.
    pub fn rate_limited(operation: Operation, quota: Quota, retry_after_s: u64) -> Self {
        let detail = format!(
            "The limit for {} is {quota}, and it is used up. Send the request again in {retry_after_s} s.",
            operation.about(),
        );
        Self {
            retry_after_s: Some(retry_after_s),
            ..Self::new(ErrorCode::RateLimited, detail)
        }
    }

    /// The fields that are wrong, all at once.
    pub fn invalid(errors: Vec<Fault>) -> Self {
        let detail = match errors.as_slice() {
            [only] => only.detail.clone(),
            many => format!("{} things are not valid; see `errors`.", many.len()),
        };
        Self {
            errors,
            ..Self::new(ErrorCode::ValidationFailed, detail)
        }
    }

    pub fn parameter(name: &str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let errors = vec![Fault::invalid(format!("?{name}"), detail.clone())];
        Self {
            errors,
            ..Self::new(ErrorCode::InvalidParameter, detail)
        }
    }

    /// A parameter that is not a query.
    pub fn query(name: &str, text: &str, error: &query::Error) -> Self {
        Self {
            errors: vec![Fault::of_query(format!("?{name}"), text, error)],
            ..Self::new(ErrorCode::InvalidParameter, error.detail.as_str())
        }
    }

    pub fn code(&self) -> ErrorCode {
        self.code
    }

    #[cfg(test)]
    pub(super) fn errors(&self) -> &[Fault] {
        &self.errors
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The same under another code, where a standard says which status it has.
    pub fn told_as(self, code: ErrorCode) -> Self {
        Self { code, ..self }
    }

    pub fn not_found(what: &str) -> Self {
        Self::new(
            ErrorCode::NotFound,
            format!("Your organization has no such {what}."),
        )
    }

    /// For what the web framework refused by itself.
    pub(super) fn of_status(status: StatusCode, text: &str) -> Self {
        let code = match status.as_u16() {
            404 => ErrorCode::NotFound,
            405 => ErrorCode::MethodNotAllowed,
            408 => ErrorCode::RequestTimeout,
            413 => ErrorCode::PayloadTooLarge,
            415 => ErrorCode::UnsupportedMediaType,
            503 => ErrorCode::StoreUnavailable,
            400..=499 => ErrorCode::InvalidBody,
            _ => ErrorCode::Internal,
        };
        let detail = if status.is_server_error() || text.is_empty() {
            code.summary()
        } else {
            text
        };
        Self::new(code, detail)
    }

    /// Writes it into the response that carried it, whose other headers stay. Layers further out find its code there.
    pub(super) fn write(self, request_id: &str, response: &mut Response) {
        self.write_head(response);
        let body = ProblemBody {
            r#type: format!("https://watchbell.dev/errors/{}", self.code.as_str()),
            title: self.code.title(),
            status: self.code.status(),
            detail: self.detail,
            code: self.code.as_str(),
            request_id: request_id.to_owned(),
            errors: self.errors,
        };
        let text = serde_json::to_string(&body).expect("a problem always encodes");
        *response.body_mut() = Body::from(text);
        let headers = response.headers_mut();
        let problem = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, problem);
        // People get a page from the same address.
        headers.append(header::VARY, HeaderValue::from_static("accept"));
    }

    /// The same for a person who looks with a browser.
    pub(super) fn write_page(&self, request_id: &str, response: &mut Response) {
        self.write_head(response);
        error_page::write(self, request_id, response);
    }

    fn write_head(&self, response: &mut Response) {
        *response.status_mut() = status_of(self.code);
        response.extensions_mut().insert(self.code);
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == ErrorCode::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
    }
}

/// What was saved must not be sent again, though a dependency is away.
fn is_to_be_sent_again(code: ErrorCode) -> bool {
    code.status() == 503 && code != ErrorCode::NotInEffectYet
}

fn status_of(code: ErrorCode) -> StatusCode {
    StatusCode::from_u16(code.status()).expect("the table holds valid statuses")
}

/// Left in the response for the envelope, which knows the request's id.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = status_of(self.code).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<journal::Error> for Problem {
    fn from(error: journal::Error) -> Self {
        let code = match &error {
            journal::Error::Unavailable { .. }
            | journal::Error::Disconnected { .. }
            | journal::Error::NoRoom => ErrorCode::JournalUnavailable,
            journal::Error::Full => ErrorCode::Overloaded,
            journal::Error::Misconfigured(_)
            | journal::Error::Newer { .. }
            | journal::Error::Corrupt { .. } => ErrorCode::Internal,
        };
        tracing::warn!(
            code = code.as_str(),
            error = chain(&error),
            "a request failed on the journal"
        );
        Self::new(code, code.summary())
    }
}

impl From<Unknown> for Problem {
    fn from(unknown: Unknown) -> Self {
        match unknown {
            Unknown::Journal(error) => error.into(),
            Unknown::Unreadable { .. } => {
                let error = chain(&unknown);
                tracing::error!(
                    error,
                    "a request failed: its organization's policies cannot be read"
                );
                Self::new(ErrorCode::Internal, ErrorCode::Internal.summary())
            }
        }
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        if let store::Error::Unavailable(_) | store::Error::TookTooLong = &error {
            tracing::warn!(error = chain(&error), "a request failed on the database");
            return Self::new(
                ErrorCode::StoreUnavailable,
                ErrorCode::StoreUnavailable.summary(),
            );
        }
        tracing::error!(error = chain(&error), "a request failed in the store");
        Self::new(ErrorCode::Internal, ErrorCode::Internal.summary())
    }
}
