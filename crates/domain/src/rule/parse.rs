//! Reads what the owner of a rule wrote, and says everything that is wrong with it at once.

use serde_json::Value;

use super::{
    Definition, Pattern,
    definition::{
        COST_MAX, COUNT_MAX, COUNT_MIN, DEFINITION_BYTES_MAX, DESCRIPTION_MAX, EXCEPT_MAX, Example,
        GROUP_DEPTH_MAX, GROUP_FIELDS_MAX, GroupField, NAME_MAX, PERIOD_S_MAX, RUNBOOK_URL_MAX,
        Suppress, TAG_MAX, TAGS_MAX, TEST_EVENT_BYTES_MAX, TESTS_MAX, Threshold, URL_MAX,
    },
    explain::{Explanation, Leaf, explain},
    fields::{Fields, bounded, moment, number, text, truth},
    pattern::{METADATA_COST, TEXT_COST, read::is_longer_than},
};
use crate::{
    event::{EventView, check},
    fault::{Fault, FaultCode},
    nearest::nearest,
};

impl Definition {
    /// Parses a definition, or says of every field that is wrong what to write instead. A field that is
    /// null has its default. The examples are tried: they must match as they say.
    pub fn parse(source: Value) -> Result<Self, Vec<Fault>> {
        // First of all, so that nothing below works on more than that.
        if is_longer_than(&source, DEFINITION_BYTES_MAX) {
            let detail = format!("A rule can be at most {DEFINITION_BYTES_MAX} bytes.");
            return Err(vec![Fault::new(FaultCode::FieldTooLong, "", detail)]);
        }
        let Value::Object(given) = source else {
            let detail = "A rule must be one JSON object.";
            return Err(vec![Fault::new(FaultCode::NotAnObject, "", detail)]);
        };
        let mut fields = Fields::new(given, "");
        let definition = read(&mut fields);
        fields.refuse_others("a rule", &Self::FIELDS);
        match definition {
            Some(definition) if definition.cost() > COST_MAX => {
                fields.fault(too_dear(&definition));
                Err(fields.faults)
            }
            Some(definition) if fields.faults.is_empty() => {
                let failed = failed_examples(&definition);
                if failed.is_empty() {
                    Ok(definition)
                } else {
                    Err(failed)
                }
            }
            _ => Err(fields.faults),
        }
    }
}

fn too_dear(rule: &Definition) -> Fault {
    let cost = rule.cost();
    let pointer = if rule.pattern.conditions().cost() > COST_MAX {
        "/match"
    } else {
        "/except"
    };
    let detail = format!(
        "This rule would take too long for one event: `match` and `except` together cost {cost}, and at most \
         {COST_MAX} is allowed. A listed value costs 1; `contains`, `wildcard`, `equals-ignore-case` and `cidr` cost \
         {TEXT_COST}; inside `metadata`, everything costs {METADATA_COST} times that. List less, or create several \
         rules."
    );
    Fault::invalid(pointer, detail)
}

/// `None` if a field that must be there is not, or not readable; that is among the faults then.
fn read(fields: &mut Fields) -> Option<Definition> {
    // All of them first, so that all faults are found.
    let name = fields.required("name", |name, _| {
        let name = text(name, "/name")?;
        Fault::of_name(&name, NAME_MAX).map_or(Ok(name), Err)
    });
    let pattern = fields.required("match", Pattern::parse_at);
    let url = fields.required("url", |url, pointer| bounded(url, pointer, URL_MAX));
    let description = fields.optional("description", |value, pointer| {
        let description = text(value, pointer)?;
        if description.chars().count() > DESCRIPTION_MAX || description.contains('\0') {
            let detail = format!("`description` can be at most {DESCRIPTION_MAX} characters.");
            return Err(Fault::new(FaultCode::FieldTooLong, pointer, detail));
        }
        Ok(description)
    });
    let enabled = fields.optional("enabled", truth);
    let except = fields.list("except", EXCEPT_MAX, |one, pointer| {
        Pattern::parse_at(one, pointer).map_err(|fault| vec![fault])
    });
    let severity = fields.optional("severity", |value, pointer| {
        let severity = text(value, pointer)?;
        if check::is_severity(&severity) {
            return Ok(severity);
        }
        let known = check::SEVERITIES.join(", ");
        Err(Fault::invalid(
            pointer,
            format!("`severity` must be one of {known}."),
        ))
    });
    let runbook_url = fields.optional("runbook_url", |value, pointer| {
        let url = bounded(value, pointer, RUNBOOK_URL_MAX)?;
        if is_web_address(&url) {
            return Ok(url);
        }
        let detail = "`runbook_url` must be a URL that starts with https:// or http://.";
        Err(Fault::invalid(pointer, detail))
    });
    let tags = fields.list("tags", TAGS_MAX, |one, pointer| {
        tag(one, pointer).map_err(|fault| vec![fault])
    });
    let shadow = fields.optional("shadow", truth);
    let snoozed_until = fields.optional("snoozed_until", moment);
    let threshold = fields.inner("threshold", read_threshold);
    let suppress = fields.inner("suppress", read_suppress);
    let tests = fields.list("tests", TESTS_MAX, example);
    Some(Definition {
        description,
        enabled: enabled.unwrap_or(true),
        except,
        severity,
        runbook_url,
        tags,
        shadow: shadow.unwrap_or(false),
        snoozed_until,
        threshold,
        suppress,
        tests,
        ..Definition::plain(name?, pattern?, url?)
    })
}

fn read_threshold(fields: &mut Fields) -> Option<Threshold> {
    let count = fields.required("count", |value, pointer| {
        if value == 1 {
            let detail = "Without a threshold, every match raises an alert; leave `threshold` out, \
                          or set a count of 2 or more.";
            return Err(Fault::invalid(pointer, detail));
        }
        number(value, pointer, COUNT_MIN, COUNT_MAX)
    });
    let window_s = fields.required("window_s", |value, pointer| {
        number(value, pointer, 1, PERIOD_S_MAX)
    });
    let group_by = group_by(fields);
    fields.refuse_others("a threshold", &["count", "window_s", "group_by"]);
    Some(Threshold {
        count: count?,
        window_s: window_s?,
        group_by,
    })
}

fn read_suppress(fields: &mut Fields) -> Option<Suppress> {
    let for_s = fields.required("for_s", |value, pointer| {
        number(value, pointer, 1, PERIOD_S_MAX)
    });
    let group_by = group_by(fields);
    fields.refuse_others("a suppression", &["for_s", "group_by"]);
    Some(Suppress {
        for_s: for_s?,
        group_by,
    })
}

fn group_by(fields: &mut Fields) -> Vec<GroupField> {
    fields.list("group_by", GROUP_FIELDS_MAX, |one, pointer| {
        group_field(one, pointer).map_err(|fault| vec![fault])
    })
}

/// A field of an event by its dotted name.
fn group_field(value: Value, pointer: &str) -> Result<GroupField, Fault> {
    let field = GroupField(text(value, pointer)?);
    let path: Vec<&str> = field.path().collect();
    let refused = |detail: String| Err(Fault::invalid(pointer, detail));
    match path.as_slice() {
        ["metadata"] => refused("Name a field in it, such as `metadata.region`.".to_owned()),
        ["metadata", inside @ ..] if inside.iter().any(|key| key.is_empty()) => {
            refused("A name between two dots is missing.".to_owned())
        }
        path if path.len() > GROUP_DEPTH_MAX => refused(format!(
            "A field can be at most {GROUP_DEPTH_MAX} levels deep."
        )),
        ["metadata", ..] => Ok(field),
        [name] if EventView::FIELDS.contains(name) => Ok(field),
        [name, ..] => {
            let meant = match nearest(name, EventView::FIELDS.iter().copied()) {
                Some(known) if path.len() == 1 && known != "metadata" => {
                    format!("did you mean `{known}`?")
                }
                _ => "your own fields are `metadata.<name>`.".to_owned(),
            };
            refused(format!("This is not a field of an event; {meant}"))
        }
        [] => refused("Name a field of an event.".to_owned()),
    }
}

fn tag(value: Value, pointer: &str) -> Result<String, Fault> {
    let tag = text(value, pointer)?;
    if tag.trim().is_empty() || tag.chars().count() > TAG_MAX || tag.contains('\0') {
        let detail = format!("A tag must be 1 to {TAG_MAX} characters.");
        return Err(Fault::invalid(pointer, detail));
    }
    Ok(tag)
}

fn example(value: Value, pointer: &str) -> Result<Example, Vec<Fault>> {
    let Value::Object(given) = value else {
        let detail = "Write {\"event\": {...}, \"matches\": true}.";
        return Err(vec![Fault::invalid(pointer, detail)]);
    };
    let mut fields = Fields::new(given, pointer);
    let event = fields.required("event", |event, pointer| {
        let json = event.to_string();
        if json.len() > TEST_EVENT_BYTES_MAX {
            let detail =
                format!("The event of a test can be at most {TEST_EVENT_BYTES_MAX} bytes.");
            return Err(Fault::new(FaultCode::FieldTooLong, pointer, detail));
        }
        EventView::parse(&json).map_err(|fault| fault.under(pointer))?;
        Ok(event)
    });
    let matches = fields.required("matches", truth);
    fields.refuse_others("a test", &["event", "matches"]);
    match (event, matches) {
        (Some(event), Some(matches)) if fields.faults.is_empty() => Ok(Example { event, matches }),
        _ => Err(fields.faults),
    }
}

/// The examples that the rule does not match as they say, and what it saw in each.
fn failed_examples(definition: &Definition) -> Vec<Fault> {
    let failed = |(index, example): (usize, &Example)| {
        let json = example.event.to_string();
        let event = EventView::parse(&json).expect("it was parsed when the example was read");
        let seen = explain(definition, &event);
        let detail = match (seen.matches, example.matches) {
            (true, true) | (false, false) => return None,
            (true, false) => {
                "The rule matches this event, but the test says it should not.".to_owned()
            }
            (false, true) => format!(
                "The rule does not match this event, but the test says it should: {}.",
                why_not(&seen)
            ),
        };
        Some(Fault::invalid(format!("/tests/{index}"), detail))
    };
    let tests = definition.tests.iter().enumerate();
    tests.filter_map(failed).collect()
}

/// What keeps the rule from matching: the first reason that is found.
fn why_not(explanation: &Explanation) -> String {
    let vetoes = &mut explanation.except.iter();
    if let Some(index) = vetoes.position(|exception| exception.matches) {
        return format!("`except/{index}` matches it");
    }
    let must_pass = || explanation.leaves.iter().filter(|leaf| leaf.or.is_none());
    let passes = |of: &Leaf| must_pass().any(|leaf| leaf.keys == of.keys && leaf.pass);
    match must_pass().find(|leaf| !passes(leaf)) {
        None => "no pattern of `$or` matches it".to_owned(),
        Some(Leaf {
            path,
            seen: Some(seen),
            ..
        }) => format!("`{path}` is {seen}"),
        Some(Leaf { path, .. }) => format!("it has no `{path}`"),
    }
}

/// A page that a person may open: nothing that a console could be made to run by a click.
fn is_web_address(url: &str) -> bool {
    let rest = ["https://", "http://"]
        .iter()
        .find_map(|scheme| url.strip_prefix(scheme));
    let is_plain = |character: char| !character.is_whitespace() && !character.is_control();
    rest.is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with('/') && rest.chars().all(is_plain)
    })
}

#[cfg(test)]
mod tests;
