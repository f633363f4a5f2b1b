//! What a person sees of a request at a glance: the facts that a policy names with `@show`.
//!
//! A path is written as in a condition: `context.amount`, `resource.owner`, `context.payload.to`. Whoever leaves out the
//! first word means the context. Where nothing is, nothing is shown: one template serves every door. A policy that looks at
//! `context.server.command` shows that too: whoever shows one of the places where commands are leaves it to the agent which
//! command a person sees.

use domain::approval::Fact;
use serde_json::{Map, Value};

use crate::{
    command::Commands,
    question::Question,
    server_context::{PAYLOAD, SERVER},
    verdict::{Determining, shorten_to},
};

/// How many facts one policy may name: a line or two on a card.
pub const PATHS_MAX: usize = 8;

/// How many facts are shown of one request, whatever its policies name.
pub const FACTS_MAX: usize = 16;

/// How long a value may be; the whole is with the request.
pub const VALUE_CHARS_MAX: usize = 200;

/// The path of all commands of a request, as `command.rs` finds them.
const COMMANDS: &str = "server.command";

/// The annotation.
pub(crate) const SHOW: &str = "show";

/// What is wrong with the text of a `@show`.
pub(crate) fn fault(text: &str) -> Option<String> {
    let count = paths(text).count();
    if !(1..=PATHS_MAX).contains(&count) || paths(text).any(|path| !is_path(path)) {
        return Some(format!(
            "@show must be 1 to {PATHS_MAX} paths with commas between them, such as \"amount, payload.to\"."
        ));
    }
    paths(text).find_map(fault_of_path)
}

/// What is wrong with a path that finds nothing in any request.
fn fault_of_path(path: &str) -> Option<String> {
    if matches!(path, "context" | "principal" | "resource") {
        return Some(format!(
            "@show must name a value in `{path}`, such as \"{path}.amount\"."
        ));
    }
    let is_of_server = in_context(path).split('.').next() == Some(SERVER);
    (is_of_server && in_context(path) != COMMANDS).then(|| {
        format!("@show cannot show `{path}`: of what the server adds, it can show \"{COMMANDS}\".")
    })
}

/// The facts that the policies that ask for a person name, in the order in which they name them.
pub fn facts(policies: &[Determining], question: &Question, payload: Option<&Value>) -> Vec<Fact> {
    let named = policies
        .iter()
        .filter_map(|policy| policy.annotations.get(SHOW))
        .flat_map(|text| paths(text));
    let mut facts: Vec<Fact> = Vec::new();
    for path in named {
        let Some(value) = shown(path, question, payload) else {
            continue;
        };
        // An amount may be told in several places; only where they differ has a person something to compare.
        let is_shown = |fact: &Fact| last(&fact.name) == last(path) && fact.value == value;
        if facts.len() < FACTS_MAX && !facts.iter().any(is_shown) {
            let name = in_context(path).to_owned();
            facts.push(Fact { name, value });
        }
    }
    facts
}

fn paths(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim)
}

fn is_path(path: &str) -> bool {
    let is_name = |name: &str| {
        let is_letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
        !name.is_empty() && name.chars().all(is_letter)
    };
    path.split('.').all(is_name)
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// A path without the first word that may be left out.
fn in_context(path: &str) -> &str {
    path.strip_prefix("context.").unwrap_or(path)
}

/// What a person sees of a place in a request; nothing where nothing is.
fn shown(path: &str, question: &Question, payload: Option<&Value>) -> Option<String> {
    let text = if in_context(path) == COMMANDS {
        let commands = Commands::of_question(question);
        commands.with_payload(payload).shown()?
    } else {
        text_of(found(path, question, payload)?)?
    };
    Some(shorten_to(&text, VALUE_CHARS_MAX))
}

fn found<'a>(path: &str, question: &'a Question, payload: Option<&'a Value>) -> Option<&'a Value> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    match first {
        "context" => within_context(rest, &question.context, payload),
        "principal" => within(&question.principal.properties, rest),
        "resource" => within(&question.resource.properties, rest),
        _ => within_context(path, &question.context, payload),
    }
}

fn within_context<'a>(
    path: &str,
    context: &'a Map<String, Value>,
    payload: Option<&'a Value>,
) -> Option<&'a Value> {
    match path.split_once('.') {
        Some((PAYLOAD, rest)) => within(payload?.as_object()?, rest),
        None if path == PAYLOAD => payload,
        _ => within(context, path),
    }
}

fn within<'a>(members: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.');
    let first = members.get(names.next()?)?;
    names.try_fold(first, |value, name| value.get(name))
}

/// A value as people read it; nothing where there is none.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        cedar_request::CedarRequest,
        set::PolicySet,
        starter,
        templates::Template,
        verdict::{Effect, Verdict},
    };

    fn asked(show: &str) -> Vec<(String, String)> {
        let policy = Determining {
            id: "a".to_owned(),
            effect: Effect::Forbid,
            annotations: [(SHOW.to_owned(), show.to_owned())].into(),
        };
        let question = json!({
            "principal": {"type": "Agent", "id": "a", "properties": {"team": "sales"}},
            "action": "payments.refund",
            "resource": {"type": "Invoice", "id": "1", "properties": {"owner": {"name": "Ann"}}},
            "context": {"amount": 250, "currency": "EUR", "note": null, "tags": ["a", "b"]},
        });
        let question: Question = serde_json::from_value(question).expect("a question");
        let payload = json!({"amount": 250, "currency": "USD", "to": "x".repeat(300)});
        facts(&[policy], &question, Some(&payload))
            .into_iter()
            .map(|fact| (fact.name, fact.value))
            .collect()
    }

    #[test]
    fn facts_are_found_where_a_condition_would_find_them() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        for (show, expected) in [
            (
                "amount,currency",
                vec![pair("amount", "250"), pair("currency", "EUR")],
            ),
            ("context.tags", vec![pair("tags", r#"["a","b"]"#)]),
            (
                "principal.team, resource.owner.name",
                vec![
                    pair("principal.team", "sales"),
                    pair("resource.owner.name", "Ann"),
                ],
            ),
            ("note, missing, payload.missing, amount.deeper", vec![]),
            ("amount, payload.amount", vec![pair("amount", "250")]),
            (
                "currency, context.payload.currency",
                vec![pair("currency", "EUR"), pair("payload.currency", "USD")],
            ),
        ] {
            assert_eq!(asked(show), expected, "{show}");
        }
        let long = &asked("payload.to")[0].1;
        assert_eq!(long.chars().count(), VALUE_CHARS_MAX + "...".len());
    }

    #[test]
    fn an_agent_cannot_hide_the_command_that_a_person_is_asked_about() {
        let template = Template::of_id("dangerous-commands").expect("a template");
        let policies = format!("{}{}", starter::POLICIES, template.policies);
        let policies = PolicySet::read(&policies, None).expect("policies");
        let context = Map::from_iter([("command".to_owned(), json!("ls"))]);
        let question = Question::of_agent("a", "tool.shell", None, context);
        let shown = |payload: &Value| {
            let asked = CedarRequest::new(&question).expect("a question");
            let decided = policies.decide(&asked, Some(payload), false);
            assert_eq!(decided.verdict, Verdict::Escalate, "{payload}");
            facts(&decided.policies, &question, Some(payload))
        };
        let fact = |value: &str| Fact {
            name: COMMANDS.to_owned(),
            value: value.to_owned(),
        };
        let elsewhere = json!({"cmd": "git push --force"});
        assert_eq!(shown(&elsewhere), [fact("ls ; git push --force")]);
        let parted = json!({"deeper": [{"command": "git", "args": ["push", "-f"]}]});
        assert_eq!(shown(&parted), [fact("ls ; git push -f")]);
        assert!(asked("server.command").is_empty(), "there is none");
    }

    #[test]
    fn a_text_that_names_nothing_is_refused() {
        for text in [
            "",
            "amount,",
            "a b",
            "a..b",
            "$.amount",
            "1,2,3,4,5,6,7,8,9",
            "context",
            "amount, principal",
            "resource",
            "server",
            "server.now",
            "context.server.command.first",
        ] {
            assert!(fault(text).is_some(), "{text}");
        }
        for text in [
            "amount",
            "a, b.c ,context.payload.to",
            "Straße, line-items",
            "server.command",
            "context.server.command",
            "context.resource",
        ] {
            assert_eq!(fault(text), None, "{text}");
        }
    }

    #[test]
    fn it_is_only_for_what_a_person_is_asked_about() {
        let forbid = "forbid (principal, action, resource);";
        let refused = |annotations: &str| {
            let faults = PolicySet::read(&format!("@id(\"a\") {annotations} {forbid}"), None);
            faults.err().map(|faults| faults[0].detail.clone())
        };
        let alone = refused("@show(\"amount\")").expect("a fault");
        assert!(alone.contains("only allowed with @verdict"), "{alone}");
        let wrong = refused("@verdict(\"escalate\") @show(\"the amount\")").expect("a fault");
        assert!(wrong.contains("1 to 8 paths"), "{wrong}");
        assert_eq!(refused("@verdict(\"escalate\") @show(\"amount\")"), None);
    }
}
