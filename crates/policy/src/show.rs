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
    verdict::Determining,
};

/// How many facts one policy may name: a line or two on a card.
pub const PATHS_MAX: usize = 8;

/// How many facts are shown of one request, whatever its policies name.
pub const FACTS_MAX: usize = 16;

/// How long a value may be; the whole is with the request. Of a longer one, the beginning and the end are shown.
pub const VALUE_CHARS_MAX: usize = 200;
const END_CHARS: usize = 60;

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
    let mut told: Vec<(&str, String)> = Vec::new();
    for path in named {
        let Some(text) = text_at(path, question, payload) else {
            continue;
        };
        // An amount may be told in several places; only where they differ has a person something to compare. They may
        // differ in what is cut.
        let is_told = |(other, same): &(&str, String)| last(other) == last(path) && *same == text;
        if told.len() < FACTS_MAX && !told.iter().any(is_told) {
            told.push((path, text));
        }
    }
    let fact = |(path, text): (&str, String)| Fact {
        name: in_context(path).to_owned(),
        value: cut(text),
    };
    told.into_iter().map(fact).collect()
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

/// What is at a place in a request, as people read it; nothing where nothing is.
fn text_at(path: &str, question: &Question, payload: Option<&Value>) -> Option<String> {
    if in_context(path) == COMMANDS {
        let commands = Commands::of_question(question);
        return commands.with_payload(payload).shown();
    }
    found(path, question, payload).and_then(text_of)
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

/// A text without its middle if it is long, and how much that is: whoever pads it must not hide its end.
fn cut(text: String) -> String {
    let count = text.chars().count();
    if count <= VALUE_CHARS_MAX {
        return text;
    }
    let head: String = text.chars().take(VALUE_CHARS_MAX - END_CHARS).collect();
    let tail: String = text.chars().skip(count - END_CHARS).collect();
    let left_out = count - VALUE_CHARS_MAX;
    format!("{head} [... {left_out} more characters ...] {tail}")
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
    }

    #[test]
    fn what_differs_only_where_it_is_cut_is_not_taken_for_the_same() {
        let policy = Determining {
            id: "a".to_owned(),
            effect: Effect::Forbid,
            annotations: [(SHOW.to_owned(), "to, payload.to, payload.of.to".to_owned())].into(),
        };
        let one = "x".repeat(300);
        let other = format!("{}y{}", "x".repeat(150), "x".repeat(149));
        let context = Map::from_iter([("to".to_owned(), json!(one))]);
        let question = Question::of_agent("a", "mails.send", None, context);
        let payload = json!({"to": other, "of": {"to": one}});
        let facts = facts(&[policy], &question, Some(&payload));
        let names: Vec<&str> = facts.iter().map(|fact| fact.name.as_str()).collect();
        assert_eq!(names, ["to", "payload.to"]);
        let expected = format!(
            "{} [... 100 more characters ...] {}",
            "x".repeat(140),
            "x".repeat(60)
        );
        assert_eq!(facts[0].value, expected);
    }

    #[test]
    fn the_end_of_a_long_value_is_shown() {
        let long = format!("{}; git push", "x".repeat(VALUE_CHARS_MAX));
        assert!(cut(long).ends_with("; git push"));
        let short = "x".repeat(VALUE_CHARS_MAX);
        assert_eq!(cut(short.clone()), short);
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
