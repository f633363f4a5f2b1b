//! A receiver of webhooks: verifies each as a customer should, answers as the contract says, and hands it to whoever
//! shows it. `watchbell listen` and `watchbell dev` are built on it.

use std::sync::{Arc, PoisonError, RwLock};

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
};
use domain::{Timestamp, delivery::ownership};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use webhook_signature::{
    DELIVERY_ID_HEADER, NEXT_SIGNATURE_HEADER, PREVIOUS_SIGNATURE_HEADER, Refusal,
    SIGNATURE_HEADER, TIMESTAMP_HEADER, Verifier,
};

use crate::{
    events::told,
    listen::forward::{Forward, Forwarded},
    machine::{CLOCK, system_time},
};

/// Webhooks that wait to be shown; more are answered but not shown.
pub const SHOWN_MAX: usize = 1_000;

/// What answers webhooks. Route to [`receive`] with this as state.
#[derive(Debug)]
pub struct Receiver {
    verifier: RwLock<Verifier>,
    arrivals: mpsc::Sender<Arrival>,
    forward: Option<Forward>,
}

/// A webhook that came, and what became of it.
#[derive(Debug)]
pub struct Arrival {
    pub(crate) at: Timestamp,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) verdict: Result<(), Refusal>,
    pub(crate) forwarded: Option<Forwarded>,
}

impl Receiver {
    /// A receiver that knows these secrets, and where to read what arrives.
    pub fn new(
        secrets: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> (Self, mpsc::Receiver<Arrival>) {
        let (arrivals, shown) = mpsc::channel(SHOWN_MAX);
        let receiver = Self {
            verifier: RwLock::new(Verifier::new(secrets)),
            arrivals,
            forward: None,
        };
        (receiver, shown)
    }

    /// From now on these are the secrets that it knows.
    pub fn know(&self, secrets: impl IntoIterator<Item = impl AsRef<[u8]>>) {
        let mut verifier = self
            .verifier
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *verifier = Verifier::new(secrets);
    }

    /// Passes on what is verified, and answers what is answered there.
    pub(crate) fn forwarding(self, forward: Option<Forward>) -> Self {
        Self { forward, ..self }
    }

    /// Whether it would be taken now.
    pub fn is_verified(&self, headers: &HeaderMap, body: &[u8]) -> bool {
        self.verify(headers, body, CLOCK.now()).is_ok()
    }

    fn verify(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<(), Refusal> {
        let timestamp = header(headers, TIMESTAMP_HEADER);
        // While a secret is changed a delivery is signed with the other one too.
        let signatures = [
            SIGNATURE_HEADER,
            PREVIOUS_SIGNATURE_HEADER,
            NEXT_SIGNATURE_HEADER,
        ]
        .map(|name| header(headers, name));
        self.verifier
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .verify_any(timestamp, &signatures, body, system_time(now))
    }
}

/// As the contract's reference receiver: 400 for a stale time, 401 for a bad signature, else 200. The body says the same
/// in words, for whoever looks at the delivery. A challenge is given back, and not passed on.
pub async fn receive(
    State(receiver): State<Arc<Receiver>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let at = CLOCK.now();
    let verdict = receiver.verify(&headers, &body, at);
    let (forwarded, answer) = match (&verdict, &receiver.forward) {
        (Err(refusal), _) => {
            let status =
                StatusCode::from_u16(refusal.http_status()).unwrap_or(StatusCode::BAD_REQUEST);
            (
                None,
                (status, format!("refused: {refusal}")).into_response(),
            )
        }
        (Ok(()), forward) => match (ownership::challenge_in(&body), forward) {
            (Some(challenge), _) => (None, given_back(&challenge)),
            (None, None) => (None, "verified".into_response()),
            (None, Some(forward)) => {
                let (forwarded, answer) = forward.send(&headers, body.clone()).await;
                (Some(forwarded), answer)
            }
        },
    };
    // Full: shown too slowly, and nothing worse.
    let _ = receiver.arrivals.try_send(Arrival {
        at,
        headers,
        body,
        verdict,
        forwarded,
    });
    answer
}

fn given_back(challenge: &str) -> Response {
    let answer = json!({"challenge": challenge}).to_string();
    ([(CONTENT_TYPE, "application/json")], answer).into_response()
}

impl Arrival {
    /// What came, in a few words.
    pub(crate) fn told(&self) -> String {
        if self.is_challenge() {
            return "a challenge, which the server expects back".to_owned();
        }
        told(&self.json()["event"])
    }

    /// Whether it is no delivery, but the server asks whose the endpoint is.
    pub(crate) fn is_challenge(&self) -> bool {
        ownership::challenge_in(&self.body).is_some()
    }

    /// The webhook on a line of its own.
    pub fn line(&self) -> String {
        let word = match &self.verdict {
            Ok(()) => "verified".to_owned(),
            Err(refusal) => format!("REFUSED ({refusal})"),
        };
        let id = self.header(DELIVERY_ID_HEADER).unwrap_or("no delivery id");
        format!("{}  {word}  {}  ({id})", self.at, self.told())
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Its body, `null` if that is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}
