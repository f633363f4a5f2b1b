//! `/v1/deliveries/{id}/attempts/{attempt_id}/request`: what an attempt sent, to the byte, and the proof.
//!
//! Nothing of it is kept: the body follows from the stored event and the time of signing, the headers from
//! the record of the attempt, the signatures from its secrets. The proof is the hash of the body, which was
//! recorded when it was sent.

use axum::{
    Json,
    extract::{Path, State},
};
use domain::{AttemptId, DeliveryId, delivery::body::body};
use hyper::http::{HeaderMap, HeaderName, HeaderValue};
use journal::{record::SecretUsed, streams::Log};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use store::deliveries::{Attempt, Delivery};
use utoipa::ToSchema;
use webhook_signature::standard;

use crate::{
    deliveries::{
        secrets::keyring::{Keyring, Past},
        send::{
            head::Head,
            signing::{Keys, Message},
        },
    },
    edge::{Caller, Problem, caller::DeliveriesRead, problem::Refusals},
    planes::ControlPlane,
};

/// What the deployment's secret is called in the record.
const DEPLOYMENT: &str = "deployment";

/// What an attempt sent, made again from the record.
#[derive(Serialize, ToSchema)]
pub struct RebuiltRequest {
    #[schema(value_type = String, example = "att_01jcq3k5m8e9ratvw2x4y6z8ab")]
    attempt_id: AttemptId,
    #[schema(example = "POST")]
    method: &'static str,
    url: String,
    /// Names and values of the headers that say what it is, and of the signatures that could be made again. What
    /// only carries it (`Host`, `User-Agent`, `Content-Length` and the like) is not among them.
    headers: Vec<HeaderBody>,
    /// The bytes of the body, which are UTF-8; null if the event is not there any more.
    body: Option<String>,
    /// SHA-256 of that body.
    body_sha256: Option<String>,
    /// SHA-256 of the body as it was recorded when it was sent.
    recorded_sha256: String,
    /// Whether the two are the same: then this is what was sent, to the byte.
    proven: bool,
    /// Which secret made which signature, the main one first; empty if it was sent unsigned.
    signatures: Vec<SignatureBody>,
    /// What is missing or wrong, in plain words; empty if nothing is.
    notes: Vec<String>,
}

/// One header.
#[derive(Serialize, ToSchema)]
pub struct HeaderBody {
    name: String,
    value: String,
}

/// One signature that the attempt carried.
#[derive(Serialize, ToSchema)]
pub struct SignatureBody {
    #[schema(example = "x-service-signature")]
    header: &'static str,
    /// `deployment`, or the secret's id.
    secret: String,
    /// Whether it is among the headers, made again; otherwise `notes` says why not.
    rebuilt: bool,
}

/// Rebuilds what an attempt sent.
///
/// Signatures are shown: each is over these very bytes and their time, which a receiver takes for 300 seconds
/// only and tells from the first by `X-Service-Delivery-Id`.
#[utoipa::path(
    get, path = "/v1/deliveries/{id}/attempts/{attempt_id}/request", tag = "deliveries",
    security(("api_key" = ["deliveries:read"]), ("session" = [])),
    params(
        ("id" = String, Path, description = "The delivery's id"),
        ("attempt_id" = String, Path, description = "The attempt's id"),
    ),
    responses(
        (status = 200, description = "The request", body = RebuiltRequest),
        Refusals,
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
    let mut attempts = plane.store.attempts(org, id).await?.into_iter();
    let attempt = attempts.find(|one| one.id == attempt);
    let attempt = attempt.ok_or_else(not_found)?;
    let event = plane.store.event(org, delivery.event).await?;
    let keyring = Keyring {
        deployment: &plane.deployment_keys,
        vault: &plane.vault,
        org,
        own: &plane.store.signing_secrets(org, plane.clock.now()).await?,
    };
    let keys = keyring.keys_of(&used(&attempt));
    let json = event.as_ref().map(|event| event.json.as_str());
    Ok(Json(rebuilt(&delivery, &attempt, json, keys)))
}

/// The request as it follows from the records.
fn rebuilt(
    delivery: &Delivery,
    attempt: &Attempt,
    event: Option<&str>,
    keys: Keys<Past>,
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
    let mut headers = head(delivery, attempt).headers().unwrap_or_default();
    let signatures = keys
        .by_header()
        .map(|(header, past)| SignatureBody {
            header,
            secret: name(past.used),
            rebuilt: proven && past.key.is_ok(),
        })
        .collect();
    if let Some(body) = body.as_deref().filter(|_| proven) {
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
            "The event of a test delivery need not be in the trail, and this one is not."
        }
        (None, _) => "The event is not in the trail any more: it is older than events are kept.",
        (Some(_), _) if !proven => {
            "The body that follows from the records is not the one that was sent: the event, the delivery or the \
             attempt was changed in the database. It is not signed."
        }
        _ => return None,
    };
    Some(note.to_owned())
}

/// The secrets of an attempt, as the record names them.
fn used(attempt: &Attempt) -> Vec<SecretUsed> {
    let named = |name: &String| match name.as_str() {
        DEPLOYMENT => Some(SecretUsed::Deployment),
        id => id.parse().ok().map(SecretUsed::Own),
    };
    attempt.secrets.iter().filter_map(named).collect()
}

fn name(used: SecretUsed) -> String {
    match used {
        SecretUsed::Deployment => DEPLOYMENT.to_owned(),
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
