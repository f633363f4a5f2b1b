//! `/v1/deliveries/{id}/attempts/{attempt_id}/request`: what an attempt sent, to the byte, and the proof.
//!
//! Nothing of it is kept: the body follows from the stored event and the time of signing, the headers from
//! the record of the attempt, the signatures from its secrets. The proof is the hash of the body, which was
//! recorded when it was sent.

use std::time::Duration;

use axum::{
    Json,
    extract::{Path, State},
};
use deliver::send::{
    headers::Head,
    signing::{Keys, Message},
};
use domain::{AttemptId, DeliveryId, Timestamp, account::Scope, delivery::body::body};
use hyper::http::{HeaderMap, HeaderName, HeaderValue};
use journal::{record::SecretUsed, streams::Log};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use store::deliveries::{Attempt, Delivery};
use utoipa::ToSchema;
use webhook_signature::standard;

use crate::{
    deliveries::secrets::keyring::{Keyring, Past},
    edge::{
        Caller, Problem,
        caller::DeliveriesRead,
        enums::{DeliveryMethod, SignatureHeader},
    },
    planes::ControlPlane,
};

/// What the initial secret is called in the record.
const DEPLOYMENT: &str = "deployment";
/// How old a signature is before it is shown. `X-Service-Signature` does not cover the delivery's id, so while
/// receivers take it, which is for 300 seconds, it would pass under another id too. The rest is for their clocks.
const SHOWN_AFTER: Duration = Duration::from_secs(600);

/// The request that an attempt sent, rebuilt from the records.
#[derive(Serialize, ToSchema)]
pub struct RebuiltRequest {
    #[schema(value_type = String, example = "att_01jcq3k5m8e9ratvw2x4y6z8ab")]
    attempt_id: AttemptId,
    #[schema(value_type = DeliveryMethod, example = "POST")]
    method: &'static str,
    url: String,
    /// Names and values of the headers that describe the delivery, and of the signatures that could be rebuilt and are
    /// older than 10 minutes. Transport headers (`Host`, `User-Agent`, `Content-Length` and the like) are not included.
    headers: Vec<HeaderBody>,
    /// The bytes of the body, which are UTF-8; null if the event is no longer stored, or if you may not read events
    /// (`events:read`).
    body: Option<String>,
    /// SHA-256 of that body.
    body_sha256: Option<String>,
    /// SHA-256 of the body, recorded when it was sent.
    recorded_sha256: String,
    /// Whether the two match: if so, this is exactly what was sent, byte for byte.
    proven: bool,
    /// Which secret made which signature, the main one first; empty if it was sent unsigned.
    signatures: Vec<SignatureBody>,
    /// What is missing, wrong or worth knowing, in plain words; empty if there is nothing to say.
    notes: Vec<String>,
}

/// One header.
#[derive(Serialize, ToSchema)]
pub struct HeaderBody {
    name: String,
    value: String,
}

/// A signature that the attempt carried.
#[derive(Serialize, ToSchema)]
pub struct SignatureBody {
    #[schema(value_type = SignatureHeader, example = "x-service-signature")]
    header: &'static str,
    /// `initial`, or the secret's id.
    secret: String,
    /// Whether it was rebuilt and is among the headers; if not, `notes` says why.
    rebuilt: bool,
}

/// Rebuilds the request that an attempt sent.
///
/// The scope `deliveries:read` shows everything except the body, which is the event; that needs `events:read` too.
/// Signatures are shown 10 minutes after they were made: receivers accept them for 300 seconds, and until then anyone
/// who sees one could replay the same bytes.
#[utoipa::path(
    get, path = "/v1/deliveries/{id}/attempts/{attempt_id}/request", tag = "deliveries",
    security(("api_key" = ["deliveries:read"]), ("session" = [])),
    params(
        ("id" = String, Path, description = "The delivery's id"),
        ("attempt_id" = String, Path, description = "The attempt's id"),
    ),
    responses(
        (status = 200, description = "The request", body = RebuiltRequest),
    ),
)]
pub async fn rebuild(
    State(plane): State<ControlPlane>,
    caller: Caller<DeliveriesRead>,
    Path((id, attempt)): Path<(String, String)>,
) -> Result<Json<RebuiltRequest>, Problem> {
    let not_found = || Problem::not_found("attempt of a delivery");
    let named: Option<(DeliveryId, AttemptId)> = id.parse().ok().zip(attempt.parse().ok());
    let (id, attempt) = named.ok_or_else(not_found)?;
    let org = caller.org;
    plane.wait_until_fresh(org, Log::Outcomes).await?;
    let delivery = plane.store.delivery(org, id).await?;
    let delivery = delivery.ok_or_else(not_found)?;
    let attempt = plane.store.attempt(org, id, attempt).await?;
    let attempt = attempt.ok_or_else(not_found)?;
    let event = plane.event(org, delivery.event).await?;
    let now = plane.clock.now();
    let keyring = Keyring {
        deployment: &plane.deployment_keys,
        vault: &plane.vault,
        org,
        own: &plane.store.signing_secrets(org, now).await?,
    };
    let keys = keyring.keys_of(&used(&attempt.secrets));
    let json = event.as_ref().map(|event| event.json.as_str());
    let mut rebuilt = rebuilt(&delivery, &attempt, json, keys, now);
    if rebuilt.body.is_some() && !caller.identity.allows(Scope::EventsRead) {
        rebuilt.body = None;
        let note = "The body is the event, and you need the scope `events:read` to see it.";
        rebuilt.notes.push(note.to_owned());
    }
    Ok(Json(rebuilt))
}

/// The request as it follows from the records.
fn rebuilt(
    delivery: &Delivery,
    attempt: &Attempt,
    event: Option<&str>,
    keys: Keys<Past>,
    now: Timestamp,
) -> RebuiltRequest {
    let at = attempt.signed_at;
    let body = event.map(|event| body(delivery.rule, &delivery.rule_name, event, at));
    let hash = body.as_ref().map(|body| hex::encode(Sha256::digest(body)));
    let proven = hash.as_ref() == Some(&attempt.body_sha256);
    let mut notes: Vec<String> = keys
        .by_header()
        .filter_map(|(_, past)| Some(past.key.as_ref().err()?.to_string()))
        .collect();
    notes.extend(what_is_wrong(delivery, event, proven));
    notes.extend(what_is_to_be_known(&keys, at, now));
    let shown = proven && are_shown(at, now);
    let mut headers = head(delivery, attempt).headers().unwrap_or_default();
    let signatures = keys
        .by_header()
        .map(|(header, past)| SignatureBody {
            header,
            secret: name(past.used),
            rebuilt: shown && past.key.is_ok(),
        })
        .collect();
    if let Some(body) = body.as_deref().filter(|_| shown) {
        let message = Message {
            delivery: delivery.id,
            signed_at: at,
            body,
        };
        sign(&mut headers, message, keys);
    }
    RebuiltRequest {
        attempt_id: attempt.id,
        method: "POST",
        url: attempt.url.clone(),
        headers: headers.iter().map(HeaderBody::from).collect(),
        body,
        body_sha256: hash,
        recorded_sha256: attempt.body_sha256.clone(),
        proven,
        signatures,
        notes,
    }
}

/// Makes the signatures again, as far as their secrets are still there.
fn sign(headers: &mut HeaderMap, message: Message<'_>, keys: Keys<Past>) {
    let is_whole = keys.by_header().all(|(_, past)| past.key.is_ok());
    keys.filter_map(|past| Some((past.used, past.key.ok()?)))
        .sign(headers, message);
    // Nobody could tell which signature a list lacks.
    if !is_whole {
        headers.remove(standard::SIGNATURE_HEADER);
    }
}

fn head<'r>(delivery: &'r Delivery, attempt: &'r Attempt) -> Head<'r> {
    Head {
        delivery: delivery.id,
        event_type: &delivery.event_type,
        signed_at: attempt.signed_at,
        attempt: attempt.number,
        trigger: &attempt.trigger,
        suppressed: (delivery.cause == "summary").then_some(delivery.suppressed),
    }
}

fn what_is_wrong(delivery: &Delivery, event: Option<&str>, proven: bool) -> Option<String> {
    let note = match (event, delivery.cause.as_str()) {
        (None, "test") => {
            "The event of a test delivery is not always in the trail, and this one is not."
        }
        (None, _) => "The event is no longer in the trail: it is older than the retention period.",
        (Some(_), _) if !proven && delivery.event.is_derived() => {
            "The body rebuilt from the records is not the one that was sent: the event, the delivery or the attempt \
             was changed in the database; or the event was sent again and raised the alert then, and the trail has it \
             as it first arrived. It is not signed."
        }
        (Some(_), _) if !proven => {
            "The body rebuilt from the records is not the one that was sent: the event, the delivery or the attempt \
             was changed in the database. It is not signed."
        }
        _ => return None,
    };
    Some(note.to_owned())
}

/// Whether signatures of then may be seen by now: no receiver takes them any more.
fn are_shown(signed_at: Timestamp, now: Timestamp) -> bool {
    now >= signed_at.plus(SHOWN_AFTER)
}

/// What to know of the signatures.
fn what_is_to_be_known(keys: &Keys<Past>, signed_at: Timestamp, now: Timestamp) -> Option<String> {
    let mut there = keys.by_header().filter(|(_, past)| past.key.is_ok());
    if !are_shown(signed_at, now) {
        let from = signed_at.plus(SHOWN_AFTER);
        let note = || {
            format!("Signatures are shown from {from} on: until then a receiver might accept them.")
        };
        return there.next().map(|_| note());
    }
    let by_deployment = there.find(|(_, past)| past.used == SecretUsed::Deployment);
    by_deployment.map(|_| {
        "The initial secret has no id: its signature was rebuilt with the initial secret derived from the current settings."
            .to_owned()
    })
}

/// The secrets of an attempt, as the record names them.
pub(super) fn used(secrets: &[String]) -> Vec<SecretUsed> {
    let named = |name: &String| match name.as_str() {
        DEPLOYMENT => Some(SecretUsed::Deployment),
        id => id.parse().ok().map(SecretUsed::Own),
    };
    secrets.iter().filter_map(named).collect()
}

pub(super) fn name(used: SecretUsed) -> String {
    match used {
        SecretUsed::Deployment => "initial".to_owned(),
        SecretUsed::Own(id) => id.to_string(),
    }
}

impl From<(&HeaderName, &HeaderValue)> for HeaderBody {
    fn from((name, value): (&HeaderName, &HeaderValue)) -> Self {
        Self {
            name: name.to_string(),
            value: String::from_utf8_lossy(value.as_bytes()).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_shown_once_no_receiver_takes_it_whatever_its_clock() {
        let at = Timestamp::from_unix_millis(1_794_735_000_000);
        let after = |seconds| are_shown(at, at.plus(Duration::from_secs(seconds)));
        assert_eq!([0, 300, 599, 600].map(after), [false, false, false, true]);
        assert!(!are_shown(at, at.minus(Duration::from_secs(1))));
    }
}
