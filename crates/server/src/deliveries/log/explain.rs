//! Says in plain words why a delivery is where it is and what happens next.

use domain::{EndpointId, Timestamp, delivery::endpoint::Endpoint};
use store::deliveries::{Attempt, Delivery};

/// The sentences for one delivery. The endpoint is the one it goes to, if it is or was in trouble.
pub(super) fn explanation(
    delivery: &Delivery,
    attempts: &[Attempt],
    endpoint: Option<&Endpoint>,
    now: Timestamp,
) -> String {
    let id = delivery.id;
    match delivery.state.as_str() {
        "pending" if delivery.was_attempted() || delivery.round.is_none() => {
            "Pending: it is due, and the next attempt is about to be made.".to_owned()
        }
        "pending" => {
            "Pending: someone asked for it to be sent again, and the next attempt is about to be made.".to_owned()
        }
        "scheduled" => format!(
            "Scheduled: {}. The next attempt is due at {}.",
            tried(delivery, attempts),
            delivery.next_at.map_or_else(|| "any time".to_owned(), |at| at.to_string()),
        ),
        "delivered" => format!("Delivered: the receiver accepted it on attempt {}.", delivery.attempts),
        "held" => held(delivery, attempts, endpoint, now),
        "failed" => format!(
            "Failed: {}. {}. Once the receiver works again, POST /v1/deliveries/{id}/resend sends it again.",
            match delivery.reason.as_deref() {
                Some("expired") => "it is too old for another attempt",
                Some("permanent") => "the receiver will never accept it",
                _ => "its schedule has no more attempts",
            },
            tried(delivery, attempts),
        ),
        "canceled" => match delivery.reason.as_deref() {
            Some("rule_deleted") => "Canceled: its rule was deleted.".to_owned(),
            _ => format!("Canceled: someone canceled it. POST /v1/deliveries/{id}/resend sends it after all."),
        },
        "suppressed" => {
            "Suppressed: not sent, because the rule had raised an alert just before; a summary says how many there \
             were."
                .to_owned()
        }
        "snoozed" => "Snoozed: not sent, because the rule was snoozed when it matched.".to_owned(),
        "shadow" => "Shadow: not sent, because the rule is in shadow mode.".to_owned(),
        other => format!("It is `{other}`."),
    }
}

fn held(
    delivery: &Delivery,
    attempts: &[Attempt],
    endpoint: Option<&Endpoint>,
    now: Timestamp,
) -> String {
    let endpoint_id = EndpointId::of(delivery.org, &delivery.url);
    match delivery.reason.as_deref() {
        Some("breaker") => {
            let probe = endpoint
                .and_then(|endpoint| endpoint.breaker)
                .map_or_else(String::new, |breaker| {
                    format!("; the next probe is at {}", breaker.probe_at.max(now))
                });
            format!(
                "Held: the endpoint kept failing, so its breaker is open{probe}. It continues on its own once a probe \
                 succeeds."
            )
        }
        Some("retry_after") => {
            let until = endpoint
                .and_then(|endpoint| endpoint.quiet_until)
                .or(delivery.next_at);
            let until = until.map_or_else(String::new, |until| format!(" until {until}"));
            format!(
                "Held: the receiver asked for a pause{until}. It continues on its own after that."
            )
        }
        Some("unverified") => format!(
            "Held: the endpoint has not answered its challenge, and nothing is sent to it until it does. Then it \
             continues on its own; POST /v1/endpoints/{endpoint_id}/verify sends the challenge now, and GET \
             /v1/endpoints/{endpoint_id} says what was wrong."
        ),
        Some("paused") => format!(
            "Held: someone paused the endpoint. POST /v1/endpoints/{endpoint_id}/resume ends the pause; then POST \
             /v1/alert-rules/{}/recover sends what was held.",
            delivery.rule
        ),
        Some("disabled") => format!(
            "Held: the endpoint is disabled, because it failed for days or said that it is gone. Fix the receiver, \
             then POST /v1/endpoints/{endpoint_id}/resume and POST /v1/alert-rules/{}/recover.",
            delivery.rule
        ),
        _ => format!(
            "Held: {}. Give the rule an allowed URL, then POST /v1/deliveries/{}/resend.",
            attempts
                .last()
                .and_then(|attempt| attempt.error.as_deref())
                .map_or("the address is not allowed", |error| error
                    .trim_end_matches('.')),
            delivery.id
        ),
    }
}

/// How often it was tried and what went wrong last.
fn tried(delivery: &Delivery, attempts: &[Attempt]) -> String {
    let times = match delivery.attempts {
        1 => "1 attempt was made".to_owned(),
        many => format!("{many} attempts were made"),
    };
    match attempts.last().and_then(|attempt| attempt.error.as_deref()) {
        Some(error) => format!("{times}; the last error: {}", error.trim_end_matches('.')),
        None => times,
    }
}
