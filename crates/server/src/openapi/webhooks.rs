//! What we send: the webhooks, as the document describes them.

use serde::Serialize;
use serde_json::Value;
use utoipa::{Modify, ToSchema, openapi::PathsBuilder};

use crate::{
    edge::enums::{ChallengeTrigger, ChallengeType, DeliveryTrigger},
    events,
};

/// The body sent to a rule's endpoint (spec 2.1).
#[derive(Serialize, ToSchema)]
pub(super) struct Webhook {
    #[schema(example = "rul_01jcq3k5m8e9ratvw2x4y6z8ab")]
    rule_id: String,
    rule_name: String,
    /// The event as recorded: the one that matched; for a summary, the last one suppressed; for a test, the one
    /// requested, which may not be recorded.
    #[schema(value_type = events::schema::Event)]
    event: Value,
    /// When the body was signed; equals `X-Service-Timestamp`.
    #[schema(format = DateTime)]
    timestamp: String,
}

/// An alert: an event matched a rule, a rule's alerts were suppressed, or someone is testing the rule's endpoint.
///
/// Answer 2xx quickly and do the work afterwards; any other status except 413 is retried. The same delivery may arrive
/// twice: recognize it by `X-Service-Delivery-Id`.
#[utoipa::path(
    post, path = "alert", tag = "webhooks", request_body = Webhook,
    params(
        ("X-Service-Event" = String, Header, description = "The event's `event_type`"),
        ("X-Service-Timestamp" = String, Header, description = "When the body was signed"),
        ("X-Service-Signature" = Option<String>, Header, description = "`sha256=` followed by the hex HMAC-SHA-256 of the timestamp, a dot and the raw body; absent if there is no signing secret"),
        ("X-Service-Signature-Previous" = Option<String>, Header, description = "The same, made with the previous secret, while it still signs alongside the current one"),
        ("X-Service-Signature-Next" = Option<String>, Header, description = "The same, made with the staged secret"),
        ("X-Service-Delivery-Id" = String, Header, description = "The same for every attempt"),
        ("X-Service-Attempt" = u32, Header, description = "The number of this attempt, starting at \
                                                           1"),
        ("X-Service-Trigger" = DeliveryTrigger, Header, description = "On the first attempt, why the delivery exists: `match`, `summary` or `test`. On later attempts, `retry`, or `resend` or `recover` if someone asked for it to be sent again"),
        ("X-Service-Suppressed" = Option<u32>, Header, description = "For a summary, on every attempt: how many alerts were suppressed"),
    ),
    responses((status = "2XX", description = "Received; it is not sent again")),
)]
#[expect(
    dead_code,
    reason = "carries the documentation of what we send; nobody calls it here"
)]
pub(super) fn alert() {}

/// The challenge an endpoint must answer before anything else is sent to it.
#[derive(Serialize, ToSchema)]
pub(super) struct Challenge {
    #[serde(rename = "type")]
    #[schema(value_type = ChallengeType)]
    kind: String,
    /// When the body was signed; equals `X-Service-Timestamp`.
    #[schema(format = DateTime)]
    timestamp: String,
    data: ChallengeData,
}

#[derive(Serialize, ToSchema)]
pub(super) struct ChallengeData {
    /// Random, and different each time.
    challenge: String,
}

/// The endpoint's answer to the challenge.
#[derive(Serialize, ToSchema)]
pub(super) struct ChallengeAnswer {
    /// The value that was sent.
    challenge: String,
}

/// A challenge: the operator of this server requires proof of who owns an endpoint (`delivery.endpoint_ownership`).
///
/// Verify the signature as for an alert, then answer 200 with the value. Nothing else is sent until then; alerts that
/// match in the meantime wait.
#[utoipa::path(
    post, path = "challenge", tag = "webhooks", request_body = Challenge,
    params(
        ("X-Service-Event" = ChallengeType, Header, description = "What this is"),
        ("X-Service-Timestamp" = String, Header, description = "When the body was signed"),
        ("X-Service-Signature" = Option<String>, Header, description = "As for an alert"),
        ("X-Service-Delivery-Id" = String, Header, description = "Different for each challenge"),
        ("X-Service-Attempt" = u32, Header, description = "The number of this challenge, starting \
                                                           at 1"),
        ("X-Service-Trigger" = ChallengeTrigger, Header, description = "Why it is sent"),
    ),
    responses((status = "2XX", description = "The endpoint is verified if the value matches the challenge", body = ChallengeAnswer)),
)]
#[expect(
    dead_code,
    reason = "carries the documentation of what we send; nobody calls it here"
)]
pub(super) fn challenge() {}

/// Moves what we send from the paths, where the macro puts it, to the webhooks.
pub(super) struct Webhooks;

impl Modify for Webhooks {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let mut webhooks = PathsBuilder::new();
        for name in ["alert", "challenge"] {
            if let Some(sent) = openapi.paths.paths.remove(name) {
                webhooks = webhooks.path(name, sent);
            }
        }
        openapi.webhooks = Some(webhooks.build());
    }
}
