//! The rule and the event that somebody wants to try, each given or named by its id.

use domain::{
    EventId, OrgId, RuleId,
    account::Scope,
    event::{EVENT_BYTES_MAX, EventView},
    fault::{Fault, FaultCode},
    rule::Rule,
};
use runtime::random;
use serde_json::{Map, Value, value::RawValue};

use super::change;
use crate::{
    edge::{Caller, Problem, caller::RulesWrite},
    planes::ControlPlane,
};

/// What a rule is called and where it alerts while nobody has said so: neither matters for trying it.
const UNSAVED_NAME: &str = "Unsaved rule";
pub(super) const UNSAVED_URL: &str = "https://unsaved.invalid/";

/// The rule that is given, or the saved one that is named.
pub(super) async fn rule(
    plane: &ControlPlane,
    org: OrgId,
    given: Option<Map<String, Value>>,
    id: Option<String>,
) -> Result<Rule, Problem> {
    match (given, id) {
        (Some(given), None) => unsaved(plane, org, given),
        (None, Some(id)) => match id.parse() {
            Ok(id) => saved(plane, org, id).await,
            Err(_) => Err(Problem::not_found("alert rule")),
        },
        _ => Err(either("/rule", "`rule` or `rule_id`")),
    }
}

/// The organization's rule of this id.
pub(crate) async fn saved(plane: &ControlPlane, org: OrgId, id: RuleId) -> Result<Rule, Problem> {
    Ok(change::found(plane, org, id).await?.rule)
}

/// A rule to be tried and not saved: as one would be made, but that `name` and `url` may be missing or null.
pub(super) fn unsaved(
    plane: &ControlPlane,
    org: OrgId,
    mut given: Map<String, Value>,
) -> Result<Rule, Problem> {
    for (field, default) in [("name", UNSAVED_NAME), ("url", UNSAVED_URL)] {
        let value = given.entry(field).or_insert(Value::Null);
        if value.is_null() {
            *value = Value::from(default);
        }
    }
    let definition = change::parsed(plane, Value::Object(given))
        .map_err(|faults| invalid_in("/rule", faults))?;
    let now = plane.clock.now();
    let id = RuleId::new(now, random::bytes());
    Ok(Rule::new(id, org, definition, now))
}

/// Refuses who may not read the trail. Whoever writes rules can have events sent anywhere from now on; those of the past
/// are another matter.
pub(super) fn may_see_events(caller: &Caller<RulesWrite>) -> Result<(), Problem> {
    caller.also_needs(&[Scope::EventsRead])
}

/// The stored bytes of the event of this id.
pub(super) async fn stored(
    plane: &ControlPlane,
    caller: &Caller<RulesWrite>,
    id: &str,
) -> Result<(EventId, String), Problem> {
    may_see_events(caller)?;
    let Ok(id) = id.parse() else {
        return Err(Problem::not_found("event"));
    };
    let event = plane.event(caller.org, id).await?;
    let event = event.ok_or_else(|| Problem::not_found("event"))?;
    Ok((event.id, event.json))
}

/// The bytes of the event that is given, or of the stored one that is named.
pub(super) async fn event(
    plane: &ControlPlane,
    caller: &Caller<RulesWrite>,
    given: Option<Box<RawValue>>,
    id: Option<String>,
) -> Result<String, Problem> {
    match (given, id) {
        (Some(given), None) => readable(given.get()),
        (None, Some(id)) => stored(plane, caller, &id).await.map(|(_, json)| json),
        _ => Err(either("/event", "`event` or `event_id`")),
    }
}

/// An event that is given may be one as sent or one as stored, and need not have every field.
fn readable(json: &str) -> Result<String, Problem> {
    let read = if json.len() > EVENT_BYTES_MAX {
        let detail = format!("An event can be at most {EVENT_BYTES_MAX} bytes.");
        Err(Fault::new(FaultCode::EventTooLarge, "", detail))
    } else {
        EventView::parse(json).map(|_| json.to_owned())
    };
    read.map_err(|fault| invalid_in("/event", vec![fault]))
}

/// The fault of a body that has both of two fields, or none.
pub(crate) fn either(pointer: &str, names: &str) -> Problem {
    let detail = format!("Give either {names}.");
    Problem::invalid(vec![Fault::new(FaultCode::FieldRequired, pointer, detail)])
}

/// Faults of something that is a part of the body.
pub(crate) fn invalid_in(part: &str, faults: Vec<Fault>) -> Problem {
    Problem::invalid(faults.into_iter().map(|fault| fault.under(part)).collect())
}
