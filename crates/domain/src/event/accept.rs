//! The door for events: checks one as sent and gives it its id and its stored bytes.

use std::{borrow::Cow, time::Duration};

use super::{
    AHEAD_MAX, EVENT_BYTES_MAX, EventView, NAME_CHARS_MAX, OF_THE_SERVER, RESOURCE_CHARS_MAX,
    Source, check,
    reserved::RESERVED,
    view::{Raw, text},
};
use crate::{
    EventId, OrgId, Timestamp,
    account::Agents,
    fault::{Fault, FaultCode},
    id::Tail,
};

/// One event as sent.
#[derive(Clone, Debug)]
pub struct Sent<'a> {
    pub json: &'a str,
    /// What was said of the event outside it; `json` is then its `data`.
    pub envelope: Option<Envelope<'a>>,
    /// Its fields, if they were found when the event was.
    pub(crate) view: Option<EventView<'a>>,
}

/// What an envelope (CloudEvents) says of its event: it counts where the event itself says nothing.
#[derive(Clone, Debug)]
pub struct Envelope<'a> {
    /// When the event occurred: a JSON string that holds a date-time.
    pub time: Option<Raw<'a>>,
    /// What tells the event from all others of the organization.
    pub name: String,
}

/// What an event is judged by beside its own bytes.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub org: OrgId,
    /// Who wrote it.
    pub source: Source,
    pub received_at: Timestamp,
    /// Older events than this are refused, so that the days of the trail stay few.
    pub retention: Duration,
}

/// Checks one event and writes it to the end of `stored` as it will be stored, listed and
/// delivered: the client's object, verbatim, with what the server knows in front. `tail` makes its id
/// unless the client named the event. If it is refused, nothing is written.
pub fn accept(
    sent: &Sent<'_>,
    arrival: &Arrival,
    tail: Tail,
    stored: &mut String,
) -> Result<EventId, Fault> {
    let json = sent.json;
    let event = checked(sent, arrival.source).map_err(|fault| fault.under(sent.inside()))?;
    let occurred_at = occurred_at(&event, sent, arrival)?;
    let client_event_id = client_event_id(&event, sent, occurred_at.is_some())?;
    let id = match (&client_event_id, occurred_at) {
        // Nobody's name is in the way of another's, and nothing is dropped for having the name of something else.
        (Some(given), Some(at)) => {
            let sender = arrival.source.to_string();
            EventId::from_client(arrival.org, &[sender.as_str(), given, json.trim()], at)
        }
        (_, at) => EventId::with_tail(at.unwrap_or(arrival.received_at), tail),
    };
    let rest = json
        .trim_start()
        .strip_prefix('{')
        .expect("a parsed event starts with a brace");
    let received_at = arrival.received_at.text();
    stored.reserve(FRONT_BYTES + rest.len());
    stored.extend([
        r#"{"id":""#,
        id.text().as_str(),
        r#"","received_at":""#,
        received_at.as_str(),
        r#"","source":""#,
    ]);
    match arrival.source {
        Source::Key(key) => stored.push_str(key.text().as_str()),
        source => stored.push_str(&source.to_string()),
    }
    stored.push_str(r#"","#);
    if event.occurred_at.is_none() {
        let time = sent.envelope.as_ref().and_then(|envelope| envelope.time);
        stored.push_str(r#""occurred_at":"#);
        match time {
            Some(time) => stored.push_str(time.get()),
            None => stored.extend(["\"", received_at.as_str(), "\""]),
        }
        stored.push(',');
    }
    if let (None, Some(given)) = (event.client_event_id, &client_event_id) {
        let given = serde_json::Value::from(given.as_ref()).to_string();
        stored.extend([r#""client_event_id":"#, &given, ","]);
    }
    stored.push_str(rest);
    Ok(id)
}

/// Refuses an event in the name of an agent that its sender does not speak for. What is no event passes, and
/// [`accept`] says so.
pub fn check_agent(sent: &Sent<'_>, agents: &Agents) -> Result<(), Fault> {
    if agents.are_all() {
        return Ok(());
    }
    let event = sent.view().unwrap_or_default();
    match event.text("agent_id") {
        Some(agent) if !agents.include(&agent) => {
            let agent: String = agent.chars().take(NAME_CHARS_MAX).collect();
            let detail = format!(
                "This API key is bound to certain agents, and `{agent}` is not one of them."
            );
            Err(Fault::invalid("/agent_id", detail).under(sent.inside()))
        }
        _ => Ok(()),
    }
}

impl<'a> Sent<'a> {
    /// An event that came without an envelope.
    pub fn bare(json: &'a str) -> Self {
        Self {
            json,
            envelope: None,
            view: None,
        }
    }

    pub(crate) fn in_envelope(json: &'a str, envelope: Envelope<'a>) -> Self {
        Self {
            envelope: Some(envelope),
            ..Self::bare(json)
        }
    }

    /// Its fields.
    pub(crate) fn view(&self) -> Result<EventView<'a>, Fault> {
        self.view.map_or_else(|| EventView::parse(self.json), Ok)
    }

    /// Where in what was sent the event is.
    fn inside(&self) -> &'static str {
        if self.envelope.is_some() { DATA } else { "" }
    }
}

/// Where an envelope keeps its event.
const DATA: &str = "/data";
/// What is written in front of an event that brings its own time and name.
const FRONT_BYTES: usize = 160;

/// The event's fields, each as it must be.
fn checked<'a>(sent: &Sent<'a>, source: Source) -> Result<EventView<'a>, Fault> {
    let json = sent.json;
    if json.len() > EVENT_BYTES_MAX {
        let detail = format!(
            "An event can be at most {EVENT_BYTES_MAX} bytes; this one is {}.",
            json.len()
        );
        return Err(Fault::new(FaultCode::EventTooLarge, "", detail));
    }
    let event = sent.view()?;
    check_fields(&event)?;
    let event_type = event.event_type.and_then(text).unwrap_or_default();
    let is_reserved = RESERVED.contains(&event_type.as_ref());
    debug_assert!(
        is_reserved || source != Source::Server,
        "anybody could send an event of the type `{event_type}`, which is our own"
    );
    if is_reserved && matches!(source, Source::Key(_)) {
        return Err(reserved(&event_type));
    }
    Ok(event)
}

/// A client that sent such an event would speak for the server.
fn reserved(event_type: &str) -> Fault {
    let detail = format!(
        "Only the server can write events of the type `{event_type}`; use another type for yours, such as \
         `agent_{event_type}`."
    );
    Fault::invalid("/event_type", detail)
}

/// When the event occurred, if anybody said so.
fn occurred_at(
    event: &EventView<'_>,
    sent: &Sent<'_>,
    arrival: &Arrival,
) -> Result<Option<Timestamp>, Fault> {
    let (raw, pointer) = match (event.occurred_at, &sent.envelope) {
        (None, Some(envelope)) => (envelope.time, "/time"),
        (given, Some(_)) => (given, "/data/occurred_at"),
        (given, None) => (given, "/occurred_at"),
    };
    let at = check::moment(raw, pointer)?;
    check_time(at, arrival, pointer)?;
    Ok(at)
}

/// What the client calls the event, if it has a name for it. A name needs a time: both make the id.
fn client_event_id<'a>(
    event: &EventView<'a>,
    sent: &'a Sent<'_>,
    has_time: bool,
) -> Result<Option<Cow<'a, str>>, Fault> {
    match (event.client_event_id.and_then(text), &sent.envelope) {
        (Some(_), envelope) if !has_time => {
            let pointer = envelope.as_ref().map_or("/occurred_at", |_| "/time");
            let detail = "`client_event_id` requires `occurred_at`: the event's id is made from \
                          both.";
            Err(Fault::new(FaultCode::FieldRequired, pointer, detail))
        }
        (None, Some(envelope)) if has_time => {
            if check::is_short(&envelope.name, NAME_CHARS_MAX) {
                return Ok(Some(Cow::Borrowed(&envelope.name)));
            }
            let detail = format!(
                "`source`, # and `id` together become the event's `client_event_id`, which can be \
                 at most {NAME_CHARS_MAX} characters; put a shorter one in `data`."
            );
            Err(Fault::new(FaultCode::FieldTooLong, "/id", detail))
        }
        (given, _) => Ok(given),
    }
}

fn check_fields(event: &EventView<'_>) -> Result<(), Fault> {
    if let Some(name) = OF_THE_SERVER
        .iter()
        .find(|name| event.field(name).is_some())
    {
        let detail = match *name {
            "id" => "`id` is set by the server; use `client_event_id` for your own id.".to_owned(),
            name => format!("`{name}` is set by the server; leave it out."),
        };
        return Err(Fault::new(
            FaultCode::FieldUnknown,
            format!("/{name}"),
            detail,
        ));
    }
    let name = |most| move |text: &str| check::is_name(text, most);
    let short = |most| move |text: &str| check::is_short(text, most);
    check::required(
        "event_type",
        event.event_type,
        "a name of a-z, 0-9, _ (at most 64)",
        name(64),
    )?;
    check::required(
        "agent_id",
        event.agent_id,
        "a string of 1 to 128 characters",
        short(128),
    )?;
    check::required(
        "action",
        event.action,
        "a dotted name such as files.delete (at most 128)",
        check::is_action,
    )?;
    check::required(
        "result",
        event.result,
        "a name of a-z, 0-9, _ (at most 32)",
        name(32),
    )?;
    let texts = [
        ("client_event_id", event.client_event_id),
        ("session_id", event.session_id),
        ("trace_id", event.trace_id),
        ("span_id", event.span_id),
        ("decision_id", event.decision_id),
        ("error_code", event.error_code),
    ];
    for (field, value) in texts {
        check::optional(field, value, check::ID_RULE, short(NAME_CHARS_MAX))?;
    }
    check::optional(
        "resource",
        event.resource,
        "a string of 1 to 256 characters",
        short(RESOURCE_CHARS_MAX),
    )?;
    check::optional(
        "severity",
        event.severity,
        "one of info, low, medium, high, critical",
        check::is_severity,
    )?;
    check::latency(event.latency_ms)?;
    check::metadata(event)
}

fn check_time(
    occurred_at: Option<Timestamp>,
    arrival: &Arrival,
    pointer: &str,
) -> Result<(), Fault> {
    let Some(at) = occurred_at else { return Ok(()) };
    let field = pointer.rsplit('/').next().unwrap_or_default();
    if at > arrival.received_at.plus(AHEAD_MAX) {
        let detail = format!(
            "`{field}` is more than 5 minutes ahead of the server's clock; check the agent's clock."
        );
        return Err(Fault::invalid(pointer, detail));
    }
    if at < arrival.received_at.minus(arrival.retention) {
        let days = arrival.retention.as_secs() / 86_400;
        let detail =
            format!("`{field}` is more than {days} days ago; events that old are not accepted.");
        return Err(Fault::invalid(pointer, detail));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
