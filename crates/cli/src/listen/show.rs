//! A webhook as `watchbell listen` shows it: a few lines for people, or one line of JSON.

use console::style;
use serde_json::{Value, json};
use webhook_signature::DELIVERY_ID_HEADER;

use crate::{
    output::{Form, Unsaid, say, say_json},
    receiver::Arrival,
    server::shown,
    table::{cell, plain},
};

const ATTEMPT_HEADER: &str = "x-service-attempt";
const TRIGGER_HEADER: &str = "x-service-trigger";

pub(super) fn show(arrival: &Arrival, form: Form) -> Result<(), Unsaid> {
    match form {
        Form::Json => say_json(&as_json(arrival)),
        Form::Table => {
            for line in lines(arrival) {
                say(line)?;
            }
            Ok(())
        }
    }
}

fn lines(arrival: &Arrival) -> Vec<String> {
    let header = |name| plain(arrival.header(name).unwrap_or("?"));
    let body = arrival.json();
    let verdict = match &arrival.verdict {
        Ok(()) => style("verified".to_owned()).green(),
        Err(refusal) => style(format!("REFUSED {}: {refusal}", refusal.http_status())).red(),
    };
    let mut lines = vec![
        format!("{}  {verdict}", arrival.at),
        format!("  event     {}", arrival.told()),
    ];
    if !arrival.is_challenge() {
        lines.push(format!(
            "  rule      {} ({})",
            cell(&body, "rule_name"),
            cell(&body, "rule_id")
        ));
    }
    lines.push(format!(
        "  delivery  {}, attempt {} ({})",
        header(DELIVERY_ID_HEADER),
        header(ATTEMPT_HEADER),
        header(TRIGGER_HEADER)
    ));
    lines.extend(arrival.forwarded.as_ref().map(|forwarded| {
        let answer = match &forwarded.answer {
            Ok(status) => status.as_u16().to_string(),
            Err(problem) => problem.clone(),
        };
        format!(
            "  forward   {}: {answer} in {} ms",
            shown(&forwarded.to),
            forwarded.took.as_millis()
        )
    }));
    lines.push(String::new());
    lines
}

fn as_json(arrival: &Arrival) -> Value {
    let forwarded = arrival.forwarded.as_ref().map(|forwarded| {
        let (status, error) = match &forwarded.answer {
            Ok(status) => (Some(status.as_u16()), None),
            Err(problem) => (None, Some(problem)),
        };
        let took_ms = u64::try_from(forwarded.took.as_millis()).unwrap_or(u64::MAX);
        json!({"to": shown(&forwarded.to), "status": status, "error": error, "took_ms": took_ms})
    });
    let refusal = arrival.verdict.as_ref().err();
    json!({
        "at": arrival.at.to_string(),
        "verified": refusal.is_none(),
        "refusal": refusal.map(|refusal| json!({
            "status": refusal.http_status(), "code": refusal.code(), "detail": refusal.to_string(),
        })),
        "delivery_id": arrival.header(DELIVERY_ID_HEADER),
        "attempt": arrival.header(ATTEMPT_HEADER),
        "trigger": arrival.header(TRIGGER_HEADER),
        "forwarded": forwarded,
        "body": arrival.json(),
    })
}
