//! `watchbell trigger`: a test delivery, sent by the server to a rule's endpoint or made here and sent to any URL.

use std::{
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use clap::Args;
use domain::{DeliveryId, EventId, RuleId, Timestamp, delivery::body::body, event::Source};
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use url::Url;
use webhook_signature::{
    DELIVERY_ID_HEADER, EVENT_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, sign, standard,
};

use crate::{
    api::{Unreachable, client, read},
    exit, input,
    machine::{CLOCK, random},
    output::{Form, note, say, say_json},
    secret::{Secret, VARIABLE},
    server::{Server, shown, target_url},
    table::{cell, plain},
};

/// As long as the server waits for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How much of an answer is shown.
const SHOWN_CHARS_MAX: usize = 500;
const RULE_NAME: &str = "watchbell trigger";

#[derive(Debug, Args)]
pub struct Trigger {
    /// The rule whose endpoint the server sends a test delivery to.
    #[arg(value_name = "RULE_ID", required_unless_present = "to")]
    rule: Option<RuleId>,
    /// Build and sign a delivery on this machine, and send it to this URL. No server is needed.
    #[arg(long, value_name = "URL", conflicts_with = "rule")]
    to: Option<String>,
    /// A file with the event to send; defaults to a sample.
    #[arg(long, value_name = "FILE")]
    event: Option<PathBuf>,
    #[command(flatten)]
    secret: Secret,
    #[command(flatten)]
    server: Server,
}

impl Trigger {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let event = self.event.as_deref().map(input::json).transpose()?;
        match (self.rule, &self.to) {
            (Some(rule), _) => self.by_the_server(rule, event).await,
            (None, to) => {
                let to = target_url(
                    to.as_deref()
                        .context("either RULE_ID or --to is required")?,
                )?;
                self.by_ourselves(&to, event).await
            }
        }
    }

    async fn by_the_server(&self, rule: RuleId, event: Option<Value>) -> anyhow::Result<ExitCode> {
        let call = self
            .server
            .api()?
            .post(&format!("/v1/alert-rules/{rule}/trigger"));
        let body = event.map_or_else(|| json!({}), |event| json!({"event": event}));
        let text = call
            .json(&body)
            .named(&hex::encode(random::<16>()))
            .text()
            .await?;
        if self.server.output == Form::Json {
            say(text)?;
            return Ok(exit::DONE);
        }
        let sent: Value = read(&text)?;
        say(format_args!(
            "{} is on its way.",
            cell(&sent, "delivery_id")
        ))?;
        if sent["matches"] == false {
            say("The rule does not match this event; it is sent anyway because you asked.")?;
        }
        say(format_args!(
            "Check the result: watchbell deliveries show {}",
            cell(&sent, "delivery_id")
        ))?;
        Ok(exit::DONE)
    }

    async fn by_ourselves(&self, to: &Url, event: Option<Value>) -> anyhow::Result<ExitCode> {
        let secret = self
            .secret
            .find()?
            .map(|mut secrets| secrets.swap_remove(0));
        if secret.is_none() {
            note(format_args!(
                "watchbell: sending unsigned, because there is no signing secret; set {VARIABLE}"
            ));
        }
        let delivery = Made::new(event.unwrap_or_else(sample), CLOCK.now())?;
        let mut request = client(to)
            .build()?
            .post(to.clone())
            .timeout(ANSWER_MAX)
            .header(CONTENT_TYPE, "application/json");
        for (name, value) in delivery.headers(secret.as_deref()) {
            request = request.header(name, value);
        }
        let started = Instant::now();
        let answer = request.body(delivery.body.clone()).send().await;
        let answer = answer.map_err(|error| Unreachable::new(to, &error).without_advice())?;
        let (status, took) = (answer.status(), started.elapsed());
        let text: String = answer
            .text()
            .await
            .unwrap_or_default()
            .chars()
            .take(SHOWN_CHARS_MAX)
            .collect();
        let (to, status_code, took_ms) = (shown(to), status.as_u16(), took.as_millis());
        let said = match self.server.output {
            Form::Json => say_json(&json!({
                "to": to, "delivery_id": delivery.id.to_string(), "status": status_code,
                "took_ms": u64::try_from(took_ms).unwrap_or(u64::MAX), "answer": text,
            })),
            Form::Table if text.is_empty() => {
                say(format_args!("{to} answered {status_code} in {took_ms} ms"))
            }
            Form::Table => say(format_args!(
                "{to} answered {status_code} in {took_ms} ms\n  {}",
                plain(&text)
            )),
        };
        exit::with(exit::done_if(status.is_success()), said)
    }
}

/// An event to try a receiver with.
fn sample() -> Value {
    json!({
        "event_type": "tool_call",
        "agent_id": "demo-agent",
        "action": "files.delete",
        "result": "denied",
        "resource": "file:quarterly-report.pdf",
        "severity": "high",
        "metadata": {"made_by": RULE_NAME},
    })
}

/// A delivery that was made here, as the server would have made it.
#[derive(Debug)]
struct Made {
    id: DeliveryId,
    at: Timestamp,
    event_type: String,
    body: String,
}

impl Made {
    fn new(mut event: Value, at: Timestamp) -> anyhow::Result<Self> {
        let event_type = event["event_type"]
            .as_str()
            .context(exit::invalid("the event has no event_type"))?
            .to_owned();
        ensure!(
            event_type.chars().all(|letter| letter.is_ascii_graphic()),
            exit::invalid(format!("{event_type:?} is not an event type"))
        );
        let (event_id, rule) = (EventId::new(at, random()), RuleId::new(at, random()));
        // What the server adds to an event that it accepts.
        let added = [
            ("id", event_id.to_string()),
            ("occurred_at", at.to_string()),
            ("received_at", at.to_string()),
            ("source", Source::Test.to_string()),
        ];
        for (name, value) in added {
            if event[name].is_null() {
                event[name] = value.into();
            }
        }
        Ok(Self {
            id: DeliveryId::of(event_id, rule),
            at,
            event_type,
            body: body(rule, RULE_NAME, &event.to_string(), at),
        })
    }

    fn headers(&self, secret: Option<&str>) -> Vec<(&'static str, String)> {
        let (id, at) = (self.id.to_string(), self.at.to_string());
        let mut headers = vec![
            (EVENT_HEADER, self.event_type.clone()),
            (TIMESTAMP_HEADER, at.clone()),
            (DELIVERY_ID_HEADER, id.clone()),
            ("x-service-attempt", "1".to_owned()),
            ("x-service-trigger", "test".to_owned()),
        ];
        let Some(secret) = secret else {
            return headers;
        };
        let body = self.body.as_bytes();
        headers.push((SIGNATURE_HEADER, sign(secret.as_bytes(), &at, body)));
        if let Some(key) = standard::Key::parse(secret) {
            let seconds = self.at.unix_seconds();
            headers.extend([
                (standard::ID_HEADER, id.clone()),
                (standard::TIMESTAMP_HEADER, seconds.to_string()),
                (
                    standard::SIGNATURE_HEADER,
                    standard::sign(&key, &id, seconds, body),
                ),
            ]);
        }
        headers
    }
}

#[cfg(test)]
mod tests {
    use webhook_signature::Verifier;

    use super::*;
    use crate::machine::system_time;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn what_is_made_here_is_verified_by_both_signatures_and_has_the_four_fields() {
        let at = CLOCK.now();
        let made = Made::new(sample(), at).expect("an event");
        let headers = made.headers(Some(SECRET));
        let header = |wanted: &str| {
            headers
                .iter()
                .find(|(name, _)| *name == wanted)
                .map(|(_, value)| value.as_str())
        };
        let now = system_time(at);
        let verified = Verifier::new([SECRET]).verify(
            header(TIMESTAMP_HEADER),
            header(SIGNATURE_HEADER),
            made.body.as_bytes(),
            now,
        );
        assert_eq!(verified, Ok(()));
        let key = standard::Key::parse(SECRET).expect("a key");
        let (id, timestamp) = (
            header(standard::ID_HEADER),
            header(standard::TIMESTAMP_HEADER),
        );
        let verified = standard::verify(
            &[key],
            id,
            timestamp,
            header(standard::SIGNATURE_HEADER),
            made.body.as_bytes(),
            now,
        );
        assert_eq!(verified, Ok(()));
        let body: Value = serde_json::from_str(&made.body).expect("JSON");
        let fields: Vec<&String> = body.as_object().expect("an object").keys().collect();
        assert_eq!(fields, ["rule_id", "rule_name", "event", "timestamp"]);
        assert_eq!(header(EVENT_HEADER), body["event"]["event_type"].as_str());
        assert_eq!(header(TIMESTAMP_HEADER), body["timestamp"].as_str());
    }

    #[test]
    fn without_a_secret_there_is_no_signature() {
        let made = Made::new(sample(), CLOCK.now()).expect("an event");
        assert!(
            made.headers(None)
                .iter()
                .all(|(name, _)| !name.contains("signature"))
        );
    }
}
