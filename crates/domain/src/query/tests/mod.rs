//! What queries mean, what holds for every text, and ([`refused`]) how mistakes are explained.

mod refused;

use proptest::{
    collection::vec, prelude::*, sample::select, strategy::ValueTree as _, test_runner::TestRunner,
};

use super::*;

fn printed(list: List, text: &str) -> String {
    parse(list, text).expect(text).to_string()
}

#[test]
fn a_query_is_printed_in_one_way() {
    for (text, expected) in [
        ("", ""),
        ("   ", ""),
        (
            "result:denied agent_id:billing-*  -severity:low metadata.amount:>500 occurred_at:>=2026-11-15T00:00Z \"free text\"",
            "result:denied agent_id:billing-* -severity:low metadata.amount:>500 occurred_at:>=2026-11-15T00:00Z \"free text\"",
        ),
        ("result:( denied , \"error\" )", "result:(denied,error)"),
        ("result:(denied,denied)", "result:denied"),
        ("severity:>=high", "severity:(high,critical)"),
        ("-severity:<medium", "-severity:(info,low)"),
        ("severity:>high", "severity:critical"),
        ("refund \"AND\" 7", "refund \"AND\" 7"),
        ("resource:invoice:1145", "resource:invoice:1145"),
        ("resource:\"invoice 1145\"", "resource:\"invoice 1145\""),
        ("agent_id:\"billing-*\"", "agent_id:\"billing-*\""),
        ("session_id:*", "session_id:*"),
        ("latency_ms:5.0..1e3", "latency_ms:5..1000"),
        ("latency_ms:7..7", "latency_ms:7"),
        ("latency_ms:>1e300", "latency_ms:>1e300"),
        ("metadata.amount:500", "metadata.amount:500"),
        ("metadata.amount:\"500\"", "metadata.amount:\"500\""),
        ("metadata.amount:5..5", "metadata.amount:5..5"),
        ("metadata.path:a..b", "metadata.path:\"a..b\""),
        ("metadata.note:\"\"", "metadata.note:\"\""),
        (
            "metadata.\"order id\".total:>=-3",
            "metadata.\"order id\".total:>=-3",
        ),
        ("metadata.\"plain\".x:1", "metadata.plain.x:1"),
        (
            "occurred_at:2026-11-15T09:30+01:00",
            "occurred_at:2026-11-15T08:30Z",
        ),
        (
            "occurred_at:2026-11-15..2026-11-17",
            "occurred_at:2026-11-15..2026-11-17",
        ),
        ("resource:\"C:\\temp\"", "resource:\"C:\\\\temp\""),
        ("größe", "größe"),
    ] {
        assert_eq!(printed(List::Events, text), expected, "{text}");
        assert_eq!(printed(List::Events, expected), expected);
    }
    let deliveries =
        "state:(failed,held) -reason:breaker url:\"https://example.com/a?b=1\" attempts:>3";
    assert_eq!(printed(List::Deliveries, deliveries), deliveries);
    let decisions = "decision:(deny,escalate) policy:refund-limit took_us:>500 policy_version:7";
    assert_eq!(printed(List::Decisions, decisions), decisions);
}

#[test]
fn a_word_in_metadata_may_be_a_number_and_a_quoted_one_is_text() {
    let test = |text: &str| match parse(List::Events, text)
        .expect(text)
        .terms
        .remove(0)
        .condition
    {
        Condition::Field(_, mut tests) => tests.remove(0),
        other @ Condition::Text(_) => panic!("{other:?}"),
    };
    let text = |text: &str| Test::Is(Value::Text(text.to_owned()));
    let word = |text: &str| Test::Is(Value::Word(text.to_owned()));
    assert_eq!(test("metadata.x:500"), word("500"));
    assert_eq!(test("metadata.x:true"), word("true"));
    assert_eq!(test("metadata.x:\"500\""), text("500"));
    assert_eq!(test("metadata.x:eu"), text("eu"));
    assert_eq!(test("agent_id:500"), text("500"));
    assert_eq!(test("metadata.x:<=5"), Test::Number(Range::UpTo(5.0)));
    assert_eq!(test("metadata.x:*"), Test::Exists);
}

#[test]
fn terms_know_where_they_stand() {
    let text = "result:denied  -\"a b\" metadata.x:(1, 2)";
    let query = parse(List::Events, text).expect("a query");
    let parts: Vec<&str> = query
        .terms
        .iter()
        .map(|term| &text[term.span.start..term.span.end])
        .collect();
    assert_eq!(parts, ["result:denied", "-\"a b\"", "metadata.x:(1, 2)"]);
    assert!(query.terms[1].is_negated);
}

#[test]
fn what_a_query_costs_is_bounded_as_for_rules() {
    let cost = |text: &str| parse(List::Events, text).expect(text).cost();
    assert_eq!(cost(""), 0);
    assert_eq!(cost("result:(denied,error) agent_id:a*"), 18);
    assert_eq!(cost("metadata.x:(1,2) metadata.y:a*"), 16 + 128);
    assert_eq!(cost("one two three four"), COST_MAX);
    assert!(parse(List::Events, "one two three four five").is_err());
}

/// Pieces that queries are made of, and some that make no sense.
fn pieces() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "result:",
        "severity:",
        "agent_id:",
        "action:",
        "occurred_at:",
        "latency_ms:",
        "source:",
        "state:",
        "rule_id:",
        "decision:",
        "policy:",
        "metadata.",
        "metadata.a:",
        "metadata.a.b:",
        "metadata.\"a b\".c:",
        "denied",
        "error",
        "high",
        "payments.*",
        "a*b",
        "*",
        "**",
        "-",
        "--",
        "!",
        ">",
        ">=",
        "<",
        "<=",
        "=",
        "500",
        "-0",
        "1e3",
        "1e400",
        "5..7",
        "..",
        "2026-11-15",
        "2026-11-15T09:30Z",
        "2026-11-15T09:30:00.5+01:00",
        "0000-01-01",
        "9999-12-31",
        "(",
        ")",
        ",",
        "\"",
        "\\",
        "\"a b\"",
        "\"\\\"\"",
        " ",
        " ",
        "  ",
        "AND",
        "OR",
        "true",
        "null",
        "é",
        "\u{a0}",
        "\0",
        ":",
        ".",
        "failed",
        "deny",
        "server",
        "key",
        "result",
        "x=1",
        "result=1",
    ]);
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Queries that most often make sense, with any text in quotes.
fn sound() -> impl Strategy<Value = String> {
    let quoted = || {
        let looks_like_more = select(vec!["500", "true", "null", "1..2", "AND", "a*", ">5"]);
        let text = prop_oneof![
            any::<String>(),
            looks_like_more.prop_map(str::to_owned),
            "[a-z.:*\"\\\\ -]{0,12}"
        ];
        text.prop_map(|text| format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\"")))
    };
    let value = prop_oneof![
        select(vec![
            "500", "-0", "1e21", "007", "a*b", "*", ">5", "<=-0.5", "1..2", "a..b", "x:y", "true",
            "é"
        ])
        .prop_map(str::to_owned),
        any::<f64>().prop_map(|number| format!(">={number}")),
        quoted(),
        "[^\\s\"(),]{1,8}",
    ];
    let values = vec(value, 1..4).prop_map(|values| format!("({})", values.join(", ")));
    let field = prop_oneof![
        3 => select(vec!["metadata.a:", "metadata.\"a\".b:", "resource:", "latency_ms:"]).prop_map(str::to_owned),
        1 => quoted().prop_map(|key| format!("metadata.{key}:")),
    ];
    let condition = (field, values).prop_map(|(field, values)| format!("{field}{values}"));
    let term = prop_oneof![4 => condition, 1 => quoted()];
    let term = (any::<bool>(), term).prop_map(|(is_negated, term)| {
        let minus = if is_negated { "-" } else { "" };
        format!("{minus}{term}")
    });
    vec(term, 1..4).prop_map(|terms| terms.join(" "))
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![4 => sound(), 4 => pieces(), 1 => ".{0,60}", 1 => any::<String>()]
}

fn lists() -> impl Strategy<Value = List> {
    select(List::ALL.to_vec())
}

#[test]
fn the_properties_below_meet_queries_of_all_sizes() {
    let mut runner = TestRunner::deterministic();
    let mut terms = [0; 4];
    for _ in 0..1_000 {
        let text = sound().new_tree(&mut runner).expect("a text").current();
        if let Ok(query) = parse(List::Events, &text) {
            terms[query.terms.len().min(3)] += 1;
        }
    }
    assert!(terms.iter().skip(1).all(|count| *count > 20), "{terms:?}");
}

proptest! {
    #[test]
    fn what_is_printed_reads_back_as_the_same_query(list in lists(), text in texts()) {
        if let Ok(query) = parse(list, &text) {
            let printed = query.to_string();
            prop_assert!(query.cost() <= COST_MAX);
            let again = parse(list, &printed);
            prop_assert_eq!(again.as_ref(), Ok(&query), "{}", printed);
            let _ = rule_patterns::rule_patterns(&query);
        }
    }

    #[test]
    fn errors_point_into_the_text_at_whole_characters(list in lists(), text in texts()) {
        if let Err(error) = parse(list, &text) {
            prop_assert!(error.span.start <= error.span.end);
            prop_assert!(text.get(error.span.start..error.span.end).is_some(), "{:?}", error);
            prop_assert!((1..=text.chars().count() + 1).contains(&error.position(&text)));
            prop_assert!(!error.detail.is_empty());
        }
    }

    #[test]
    fn what_is_offered_replaces_what_is_before_the_cursor(list in lists(), text in texts(), cursor in 0_usize..80) {
        let completion = complete(list, &text, cursor);
        prop_assert!(text.get(completion.replaces.start..completion.replaces.end).is_some());
        prop_assert!(completion.replaces.end <= cursor);
    }

    #[test]
    fn an_offer_can_be_completed_to_a_query(list in lists(), place in any::<prop::sample::Index>()) {
        let offers = complete(list, "", 0).offers;
        let offer = &offers[place.index(offers.len())].text;
        let text = if offer.ends_with('.') { format!("{offer}x:*") } else { format!("{offer}*") };
        prop_assert!(parse(list, &text).is_ok(), "{}", text);
    }
}
