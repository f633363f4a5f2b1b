//! Passing a verified webhook on to a program that is being written, as it came.

use std::time::{Duration, Instant};

use axum::{
    body::Bytes,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use reqwest::Client;
use url::Url;

use crate::api::{Unreachable, client};

/// The server gives up on an answer after this long, so nobody would read a later one.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How much of the answer's body is passed back; the server keeps less.
const BODY_MAX: usize = 64 * 1024;
/// What belongs to a connection and not to a message (RFC 9110, 7.6.1), and what the client writes itself.
pub(crate) const NOT_PASSED_ON: [header::HeaderName; 9] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Where webhooks are passed on to.
#[derive(Debug)]
pub(crate) struct Forward {
    http: Client,
    to: Url,
}

/// What became of one that was.
#[derive(Debug)]
pub(crate) struct Forwarded {
    pub(crate) to: Url,
    pub(crate) took: Duration,
    pub(crate) answer: Result<StatusCode, String>,
}

impl Forward {
    pub(crate) fn new(to: Url) -> anyhow::Result<Self> {
        let http = client(&to).timeout(ANSWER_MAX).build()?;
        Ok(Self { http, to })
    }

    /// Sends it, and says what to answer: what was answered there.
    pub(crate) async fn send(&self, headers: &HeaderMap, body: Bytes) -> (Forwarded, Response) {
        let mut headers = headers.clone();
        for name in NOT_PASSED_ON {
            headers.remove(name);
        }
        let started = Instant::now();
        let sent = self
            .http
            .post(self.to.clone())
            .headers(headers)
            .body(body)
            .send()
            .await;
        let (answer, response) = match sent {
            Ok(mut answered) => {
                let mut text = Vec::new();
                while let Ok(Some(piece)) = answered.chunk().await {
                    text.extend_from_slice(&piece);
                    if text.len() >= BODY_MAX {
                        text.truncate(BODY_MAX);
                        break;
                    }
                }
                (
                    Ok(answered.status()),
                    (answered.status(), text).into_response(),
                )
            }
            Err(error) => {
                let status = if error.is_timeout() {
                    StatusCode::GATEWAY_TIMEOUT
                } else {
                    StatusCode::BAD_GATEWAY
                };
                let told = Unreachable::new(&self.to, &error).in_short();
                (Err(told.clone()), (status, told).into_response())
            }
        };
        let forwarded = Forwarded {
            to: self.to.clone(),
            took: started.elapsed(),
            answer,
        };
        (forwarded, response)
    }
}
