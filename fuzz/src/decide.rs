//! Verdicts: policies, a schema and a question as JSON, parted by lines of `---`. Nothing
//! panics, slices answer like the whole, and what a plain forbid is about is never allowed.

use policy::{
    CedarRequest, Decided, Effect, PolicySet, Question, Verdict, check::check as check_text,
};

/// Longer texts find nothing that shorter ones do not, and take the fuzzer's time.
const BYTES_MAX: usize = 4096;

pub(crate) fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if text.len() > BYTES_MAX {
        return;
    }
    let mut parts = text.split("\n---\n");
    let [policies, schema, question] = [(); 3].map(|()| parts.next().unwrap_or_default());
    let schema = (!schema.is_empty()).then_some(schema);

    let report = check_text(policies, schema, &[]);
    let (sliced, whole) = match (
        PolicySet::read(policies, schema),
        PolicySet::read_whole(policies, schema),
    ) {
        (Ok(sliced), Ok(whole)) => (sliced, whole),
        (Err(one), Err(other)) => {
            assert_eq!(one, other);
            assert!(
                !report.errors.is_empty(),
                "a text that cannot be read was found good"
            );
            return;
        }
        _ => panic!("a text is read once and once not"),
    };
    let question = serde_json::from_str::<Question>(question)
        .unwrap_or_else(|_| Question::of_agent("a", "b.c", Some(question), serde_json::Map::new()));
    let Ok(asked) = CedarRequest::new(&question) else {
        return;
    };
    let _ = question.digest(None);

    let payload = serde_json::json!({"card": 1, "list": [1, {"a": 2}]});
    for (payload, is_approved) in [
        (None, false),
        (None, true),
        (Some(&payload), false),
        (Some(&payload), true),
    ] {
        let decided = sliced.decide(&asked, payload, is_approved);
        assert_eq!(decided, whole.decide(&asked, payload, is_approved));
        check_decided(&decided, is_approved);
    }
    // The same policies and one more, which forbids whatever this is.
    let forbid = "@id(\"\u{1F512}\") forbid (principal, action, resource);";
    let forbidding = format!("{policies}\n{forbid}");
    if let Ok(forbidding) = PolicySet::read(&forbidding, schema) {
        let decided = forbidding.decide(&asked, Some(&payload), true);
        assert_eq!(
            decided.verdict,
            Verdict::Deny,
            "a plain forbid was passed over"
        );
    }
}

fn check_decided(decided: &Decided, is_approved: bool) {
    let effects = || decided.policies.iter().map(|policy| policy.effect);
    let is_forbidden = effects().any(|effect| effect == Effect::Forbid);
    assert!(!decided.reason.is_empty());
    assert_eq!(
        decided.modified_payload.is_some(),
        decided.verdict == Verdict::Modify
    );
    assert!(
        decided.errors.is_empty() || decided.verdict == Verdict::Deny,
        "an error did not deny"
    );
    match decided.verdict {
        Verdict::Allow | Verdict::Modify => assert!(!is_forbidden && !decided.policies.is_empty()),
        Verdict::Escalate => assert!(is_forbidden && !is_approved),
        Verdict::Deny => assert!(effects().count() <= policy::verdict::TOLD_MAX),
    }
}
