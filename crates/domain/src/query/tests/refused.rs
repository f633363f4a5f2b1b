//! Mistakes that people make: where they are pointed at, what is said, and what would be right.

use super::*;

/// The part that is pointed at, what is said, and what to write instead.
fn refused(list: List, text: &str) -> (String, String, Option<String>) {
    let error = parse(list, text).expect_err(text);
    let part = &text[error.span.start..error.span.end];
    (part.to_owned(), error.detail, error.instead)
}

#[test]
fn a_mistake_is_pointed_at_and_put_right() {
    // The text, the part that is wrong, how the sentence starts, and what replaces the part.
    let cases: [(&str, &str, &str, Option<&str>); 37] = [
        (
            "results:denied",
            "results",
            "`results` is not a field of an event; did you mean `result`?",
            Some("result"),
        ),
        (
            "x type:login",
            "type",
            "`type` is not a field of an event; did you mean `event_type`?",
            Some("event_type"),
        ),
        (
            "invoice:1145",
            "invoice",
            "`invoice` is not a field of an event. If it is your own field, write metadata.invoice.",
            None,
        ),
        (
            "https://example.com",
            "https",
            "`https` is not a field of an event.",
            None,
        ),
        (":denied", "", "The name of a field is expected here", None),
        (
            "result:",
            "",
            "A value of `result` is expected right after the `:`.",
            None,
        ),
        (
            "result: denied",
            "",
            "A value of `result` is expected right after the `:`.",
            None,
        ),
        ("result:(denied", "(", "This `(` is not closed", None),
        (
            "result:(denied,)",
            "",
            "A value of `result` is expected here",
            None,
        ),
        (
            "result:()",
            "",
            "A value of `result` is expected here",
            None,
        ),
        (
            "result:(denied error)",
            "",
            "A `,` or a `)` is expected here",
            None,
        ),
        (
            "result:denied,error",
            ",",
            "A comma separates values in parentheses",
            None,
        ),
        (
            "(result:denied)",
            "(",
            "Parentheses list the values of a field",
            None,
        ),
        ("result:denied)", ")", "This `)` closes nothing.", None),
        ("\"free", "\"", "This quote is not closed", None),
        ("\"a\"b", "b", "A space is expected here", None),
        (
            "\"result\":denied",
            "\"result\"",
            "The name of a field is written without quotes",
            None,
        ),
        (
            "metadata.\"order id\"",
            "",
            "A `:` and a value are expected after the name of a field.",
            None,
        ),
        (
            "metadata.\"order\"id:7",
            "",
            "A `.` or a `:` is expected after a key in quotes.",
            None,
        ),
        (
            "- result:denied",
            "-",
            "Put what to leave out right after the `-`",
            None,
        ),
        ("--x", "-", "One `-` is enough.", Some("")),
        (
            "!result:denied",
            "!",
            "To leave something out, put a `-` in front.",
            Some("-"),
        ),
        (
            "result:!denied",
            "!denied",
            "To leave something out, put a `-` in front: -result:denied.",
            None,
        ),
        ("a OR b", "OR", "Alternatives are values of one field", None),
        (
            "metadata.amount>500",
            "metadata.amount>500",
            "A `:` is expected after the name of a field: write metadata.amount:>500.",
            Some("metadata.amount:>500"),
        ),
        (
            "result!=success",
            "result!=success",
            "A `:` is expected",
            Some("-result:success"),
        ),
        (
            "result:=denied",
            "=denied",
            "Leave out the `=`",
            Some("denied"),
        ),
        (
            "severity:urgent",
            "urgent",
            "`severity` must be one of info, low, medium, high, critical.",
            None,
        ),
        (
            "severity:>=highs",
            "highs",
            "`severity` must be one of info, low, medium, high, critical; did you mean `high`?",
            Some("high"),
        ),
        (
            "severity:>critical",
            ">critical",
            "Nothing is above `critical`",
            Some(">=critical"),
        ),
        ("agent_id:>5", ">5", "`agent_id` has no order", None),
        (
            "action:delete",
            "delete",
            "`action` must be a dotted name",
            None,
        ),
        (
            "metadata.amount:>lots",
            "lots",
            "A number is expected here",
            None,
        ),
        (
            "latency_ms:>",
            "",
            "A number is expected right after the sign, such as >500.",
            None,
        ),
        (
            "latency_ms:9..5",
            "9..5",
            "The second is before the first",
            Some("5..9"),
        ),
        (
            "occurred_at:>2026-11-15T09:30",
            "2026-11-15T09:30",
            "Say in which time zone",
            Some("2026-11-15T09:30Z"),
        ),
        (
            "occurred_at:yesterday",
            "yesterday",
            "A time is expected here",
            None,
        ),
    ];
    for (text, part, detail, instead) in cases {
        let found = refused(List::Events, text);
        assert_eq!(found.0, part, "{text}: {}", found.1);
        assert!(found.1.starts_with(detail), "{text}: {}", found.1);
        assert_eq!(found.2.as_deref(), instead, "{text}");
    }
}

#[test]
fn what_is_too_much_is_refused() {
    let values: Vec<String> = (0..=VALUES_MAX)
        .map(|number| format!("a{number}"))
        .collect();
    let terms: Vec<String> = (0..=TERMS_MAX)
        .map(|number| format!("-result:r{number}"))
        .collect();
    for (text, part, detail) in [
        (
            format!("agent_id:({})", values.join(",")),
            "a20",
            "A term can list at most 20 values.",
        ),
        (
            terms.join(" "),
            "-result:r16",
            "A query can have at most 16 terms.",
        ),
        (
            "agent_id:a*b*c*d*e*".to_owned(),
            "*",
            "A value can have at most 4 `*`.",
        ),
        ("agent_id:a**".to_owned(), "*", "This `*` follows another"),
        (
            "metadata.a.b.c.d.e.f:1".to_owned(),
            "metadata.a.b.c.d.e.f",
            "A field can be at most 6 levels deep",
        ),
        (
            "metadata:5".to_owned(),
            "metadata",
            "Name a field in `metadata`",
        ),
        (
            "metadata..a:5".to_owned(),
            "metadata..a",
            "A key is missing",
        ),
        (
            "result.x:5".to_owned(),
            "result.x",
            "`result` has no fields inside",
        ),
        (
            "one two three four metadata.a:x".to_owned(),
            "four",
            "This query takes 520 cost units, and 512 are allowed",
        ),
        (
            "result:denied x result:error".to_owned(),
            "result:error",
            "`result` is asked for twice",
        ),
        ("a\0b".to_owned(), "\0", "A query cannot contain NUL."),
    ] {
        let found = refused(List::Events, &text);
        assert_eq!(found.0, part, "{text}: {}", found.1);
        assert!(found.1.starts_with(detail), "{text}: {}", found.1);
    }
    let long = "a ".repeat(TEXT_BYTES_MAX);
    assert!(parse(List::Events, &long).is_err());
}

#[test]
fn each_list_has_its_own_fields() {
    let found = refused(List::Deliveries, "result:denied");
    assert!(found.1.contains("not a field of a delivery"), "{}", found.1);
    assert!(
        refused(List::Deliveries, "refund")
            .1
            .starts_with("Deliveries have no text")
    );
    assert!(
        refused(List::Deliveries, "rule_id:evt_1")
            .1
            .contains("`rul_`")
    );
    assert_eq!(
        refused(List::Deliveries, "state:fail").2.as_deref(),
        Some("failed")
    );
    assert_eq!(
        refused(List::Decisions, "decision:den").2.as_deref(),
        Some("deny")
    );
}
