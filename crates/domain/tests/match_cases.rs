//! What the parser of `match` takes. `scripts/check-match-schema` holds the published schema against the same cases.

use domain::{event::EventView, rule::Pattern};
use serde::Deserialize;
use serde_json::{Value, json};

/// What each makes of a `match`. They differ where a bound is beyond a schema.
#[derive(Deserialize)]
struct Case {
    r#match: Value,
    parser: bool,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("match_cases.json")).expect("cases")
}

#[test]
fn the_parser_takes_what_the_cases_say() {
    for case in cases() {
        let is_taken = Pattern::parse(case.r#match.clone()).is_ok();
        assert_eq!(is_taken, case.parser, "{}", case.r#match);
    }
}

#[test]
fn every_field_of_an_event_is_in_a_case() {
    let cases = cases();
    for name in EventView::FIELDS {
        let source = json!({*name: ["x"], "$or": [{*name: ["x"]}]});
        assert!(cases.iter().any(|case| case.r#match == source), "{name}");
    }
}
