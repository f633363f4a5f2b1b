//! The index changes no answer: a set that is sliced, the same set without an index, and Cedar asked
//! by itself agree. Four times 25,000 questions, in as many tests as there are usually threads; with
//! `POLICY_TEST_SEED` set to a number, others than usual.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeSet, HashMap, HashSet},
};

use cedar_policy::{
    Authorizer, Context, Decision, Effect, Entities, Entity, EntityUid, PolicyId, Request, Schema,
};
use policy::{CedarRequest, Decided, Party, PolicySet, Question, Verdict};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::select,
    test_runner::{Config, TestRng, TestRunner},
};
use serde_json::{Map, Value, json};

const SETS: u32 = 100;
const QUESTIONS_OF_A_SET: usize = 250;

/// Actions that have other groups than their names say.
const SCHEMA: &str = r#"
    entity Agent, User = { level?: Long };
    entity Account, Resource;
    type Circumstances = { n?: Long, s?: String, tags?: Set<String> };
    action "money", "files", "x" appliesTo { principal: Agent, resource: Resource, context: Circumstances };
    action "pay" in ["money"] appliesTo { principal: [Agent, User], resource: [Account, Resource], context: Circumstances };
    action "pay.create", "pay.other" in ["pay"] appliesTo { principal: [Agent, User], resource: [Account, Resource], context: Circumstances };
    action "pay.refund" in ["money"] appliesTo { principal: [Agent, User], resource: [Account, Resource], context: Circumstances };
    action "files.read" in ["pay", "x"] appliesTo { principal: [Agent, User], resource: [Account, Resource], context: Circumstances };
"#;

#[test]
fn slices_answer_like_the_whole() {
    compare_slices_with_the_whole(1, None);
}

#[test]
fn slices_answer_like_the_whole_for_other_sets() {
    compare_slices_with_the_whole(2, None);
}

#[test]
fn slices_answer_like_the_whole_for_still_other_sets() {
    compare_slices_with_the_whole(3, None);
}

#[test]
fn slices_answer_like_the_whole_if_there_is_a_schema() {
    compare_slices_with_the_whole(4, Some(SCHEMA));
}

/// The same numbers make the same sets and questions, so that a failure is seen again.
#[expect(clippy::disallowed_methods, reason = "a test may read its seed")]
fn compare_slices_with_the_whole(number: u8, schema: Option<&str>) {
    let config = Config {
        cases: SETS,
        failure_persistence: None,
        ..Config::default()
    };
    let variable = std::env::var("POLICY_TEST_SEED").ok();
    let variable = variable.map(|text| text.parse::<u64>().expect("a number"));
    let mut seed = [number; 32];
    seed[..8].copy_from_slice(&variable.unwrap_or_default().to_le_bytes());
    let rng = TestRng::from_seed(config.rng_algorithm, &seed);
    let allow_all = r#"@id("ID") permit (principal, action, resource);"#.to_owned();
    let policies = vec(prop_oneof![5 => policy(), 1 => Just(allow_all)], 1..16);
    let sets = (policies, vec(asking(), QUESTIONS_OF_A_SET));
    let seen = RefCell::new(HashMap::<Verdict, u32>::new());
    let failed = Cell::new(0);
    let result = TestRunner::new_with_rng(config, rng).run(&sets, |(policies, askings)| {
        let text: Vec<String> = policies
            .iter()
            .enumerate()
            .map(|(index, policy)| policy.replace("ID", &format!("p{index:02}")))
            .collect();
        let text = text.join("\n");
        let sliced = PolicySet::read(&text, schema).expect("policies");
        let whole = PolicySet::read_whole(&text, schema).expect("policies");
        let plain: cedar_policy::PolicySet = text.parse().expect("policies");
        let schema: Option<Schema> = schema.map(|text| text.parse().expect("a schema"));
        for (number, asking) in askings.iter().enumerate() {
            let asked = CedarRequest::new(&asking.question).expect("a question");
            let payload = asking.payload.as_ref();
            let answer = sliced.decide(&asked, payload, asking.is_approved);
            let expected = whole.decide(&asked, payload, asking.is_approved);
            prop_assert_eq!(&answer, &expected, "{}\n{:#?}", text, asking);
            if number % 10 == 0 {
                agrees_with_cedar(&answer, asking, &plain, schema.as_ref())?;
            }
            failed.set(failed.get() + u32::from(!answer.errors.is_empty()));
            *seen.borrow_mut().entry(answer.verdict).or_default() += 1;
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("POLICY_TEST_SEED={}: {error}", variable.unwrap_or_default());
    }
    let (seen, failed) = (seen.into_inner(), failed.get());
    for verdict in Verdict::ALL {
        let times = seen.get(&verdict).copied().unwrap_or_default();
        assert!(times > 50, "{verdict:?} only {times} times: {seen:?}");
    }
    assert!(failed > 100, "policies failed only {failed} times");
}

/// What Cedar itself says of all policies at once, with a request made from JSON. With a schema only if the question fits:
/// what does not is denied before anything is asked.
fn agrees_with_cedar(
    answer: &Decided,
    asking: &Asking,
    policies: &cedar_policy::PolicySet,
    schema: Option<&Schema>,
) -> Result<(), TestCaseError> {
    if answer.errors.iter().any(|failed| failed.id.is_empty()) {
        prop_assert!(schema.is_some(), "{:?}", answer);
        return Ok(());
    }
    let Question {
        principal,
        action,
        resource,
        context,
    } = &asking.question;
    let uid = |kind: &str, id: &str| -> EntityUid {
        EntityUid::from_json(json!({"type": kind, "id": id})).expect("a name")
    };
    let mut groups = HashSet::new();
    for (at, _) in action.match_indices('.') {
        groups.insert(uid("Action", &action[..at]));
    }
    let action = uid("Action", action);
    let mut known = Vec::new();
    if !principal.properties.is_empty() {
        known.push(json!({
            "uid": {"type": principal.kind, "id": principal.id},
            "attrs": principal.properties,
            "parents": [],
        }));
    }
    let actions = match schema {
        None => Entities::from_entities([Entity::new_no_attrs(action.clone(), groups)], None),
        Some(schema) => schema.action_entities(),
    };
    let entities = Entities::from_json_value(known.into(), None)
        .expect("a principal, if anything is known of it")
        .add_entities(actions.expect("actions").iter().cloned(), None)
        .expect("actions of their own");
    // What is beside the question, without a schema: nothing that the server says, and what is sent.
    let mut context = context.clone();
    if schema.is_none() {
        let payload = asking.payload.iter().cloned();
        context.extend(payload.map(|payload| ("payload".to_owned(), payload)));
        context.insert("server".to_owned(), json!({}));
    }
    let context = Value::Object(context);
    let context = Context::from_json_value(context, None).expect("a context");
    let request = Request::new(
        uid(&principal.kind, &principal.id),
        action,
        uid(&resource.kind, &resource.id),
        context,
        None,
    )
    .expect("a request");
    let response = Authorizer::new().is_authorized(&request, policies, &entities);
    let id = |policy: &PolicyId| {
        let id = policies.annotation(policy, "id");
        id.expect("every policy has an id").to_owned()
    };

    let ours: BTreeSet<(String, String)> = answer
        .errors
        .iter()
        .map(|failed| (failed.id.clone(), failed.error.clone()))
        .collect();
    let theirs: BTreeSet<(String, String)> = response
        .diagnostics()
        .errors()
        .map(|error| match error {
            cedar_policy::AuthorizationError::PolicyEvaluationError(error) => {
                (id(error.policy_id()), error.inner().to_string())
            }
        })
        .collect();
    prop_assert_eq!(&ours, &theirs);
    prop_assert_eq!(
        told(answer),
        determining(answer, &request, policies, &entities)
    );
    let may_be = match response.decision() {
        Decision::Allow if theirs.is_empty() => answer.verdict != Verdict::Escalate,
        Decision::Allow => answer.verdict == Verdict::Deny,
        // What a person approved is allowed where Cedar alone would deny.
        Decision::Deny if asking.is_approved => true,
        Decision::Deny => matches!(answer.verdict, Verdict::Deny | Verdict::Escalate),
    };
    prop_assert!(may_be, "{:?} but {:?}", response.decision(), answer);
    Ok(())
}

fn told(answer: &Decided) -> BTreeSet<String> {
    answer.policies.iter().map(|one| one.id.clone()).collect()
}

/// The policies that must be told with an answer: of those that Cedar, asked about each alone, says apply.
fn determining(
    answer: &Decided,
    request: &Request,
    policies: &cedar_policy::PolicySet,
    entities: &Entities,
) -> BTreeSet<String> {
    let applies = |policy: &&cedar_policy::Policy| {
        let alone = cedar_policy::PolicySet::from_policies([(*policy).clone()]);
        let alone = alone.expect("one policy");
        let response = Authorizer::new().is_authorized(request, &alone, entities);
        response.diagnostics().reason().next().is_some()
    };
    let applying: Vec<_> = policies.policies().filter(applies).collect();
    let is_told = |policy: &&&cedar_policy::Policy| {
        let is_escalating = policy.annotation("verdict") == Some("escalate");
        let obliges = policy.annotation("obligation").is_some();
        match (policy.effect(), answer.verdict) {
            (Effect::Forbid, Verdict::Deny) => !is_escalating,
            (Effect::Forbid, verdict) => verdict == Verdict::Escalate,
            (Effect::Permit, Verdict::Allow) => true,
            (Effect::Permit, Verdict::Modify) => obliges,
            (Effect::Permit, Verdict::Escalate) => false,
            // A change that cannot be made denies, unless something else does first.
            (Effect::Permit, Verdict::Deny) => {
                let is_plain = |forbid: &&cedar_policy::Policy| {
                    forbid.effect() == Effect::Forbid
                        && forbid.annotation("verdict") != Some("escalate")
                };
                obliges && answer.errors.is_empty() && !applying.iter().any(is_plain)
            }
        }
    };
    let told = applying.iter().filter(is_told);
    told.map(|policy| policy.annotation("id").expect("an id").to_owned())
        .collect()
}

#[derive(Clone, Debug)]
struct Asking {
    question: Question,
    payload: Option<Value>,
    is_approved: bool,
}

fn asking() -> impl Strategy<Value = Asking> {
    let principal = (
        select(vec!["Agent", "Agent", "Agent", "User"]),
        select(vec!["a0", "a1", "a2", "a3"]),
        option::of(select(vec![json!(1), json!(5), json!(2), json!("high")])),
    );
    let principal = principal.prop_map(|(kind, id, level)| {
        let mut party = Party::new(kind, id);
        party
            .properties
            .extend(level.map(|level| ("level".to_owned(), level)));
        party
    });
    let actions = [
        "pay",
        "pay.create",
        "pay.refund",
        "pay.refund.partial",
        "pay.other",
        "files",
        "files.read",
        "x",
        "money",
    ];
    let resources = [
        None,
        Some("Account:1"),
        Some("Account:2"),
        Some("whatever"),
        Some("Resource:1"),
    ];
    let context = (
        option::of(select(vec![
            json!(1),
            json!(4),
            json!(9),
            json!(2),
            json!(3),
            json!("4"),
            json!(i64::MAX),
        ])),
        option::of(select(vec![
            json!("abc"),
            json!("xyz"),
            json!("x"),
            json!(true),
        ])),
        option::of(select(vec![json!(["x", "y"]), json!([]), json!({"x": 1})])),
    );
    let context = context.prop_map(|(n, s, tags)| {
        let members = [("n", n), ("s", s), ("tags", tags)];
        let members = members
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        members.collect::<Map<String, Value>>()
    });
    let payload = option::of(select(vec![
        json!({"card": 1, "list": [1, 2]}),
        json!({}),
        json!("text"),
    ]));
    let parts = (
        principal,
        select(actions.to_vec()),
        select(resources.to_vec()),
        context,
        payload,
        any::<bool>(),
    );
    parts.prop_map(
        |(principal, action, resource, context, payload, is_approved)| Asking {
            question: Question {
                principal,
                ..Question::of_agent("", action, resource, context)
            },
            payload,
            is_approved,
        },
    )
}

/// A policy whose id is `ID`.
fn policy() -> impl Strategy<Value = String> {
    let principals = [
        "principal",
        "principal",
        r#"principal == Agent::"a0""#,
        r#"principal == Agent::"a1""#,
        r#"principal == User::"a0""#,
        "principal is Agent",
        r#"principal in Agent::"a2""#,
        r#"principal is Agent in Agent::"a1""#,
    ];
    let actions = [
        "action",
        r#"action == Action::"pay""#,
        r#"action == Action::"pay.create""#,
        r#"action == Action::"files.read""#,
        r#"action in Action::"pay""#,
        r#"action in Action::"pay.refund""#,
        r#"action in Action::"money""#,
        r#"action in [Action::"pay", Action::"pay.refund", Action::"files"]"#,
        r#"action in [Action::"x", Action::"x"]"#,
        "action in []",
    ];
    let resources = [
        "resource",
        "resource",
        r#"resource == Account::"1""#,
        "resource is Account",
        r#"resource in Resource::"whatever""#,
    ];
    let conditions = [
        "",
        "when { context has n && context.n > 3 }",
        "unless { context has n && context.n <= 4 }",
        r#"unless { context has s && context.s == "xyz" }"#,
        r#"when { context has tags && context.tags.contains("x") }"#,
        "when { principal has level && principal.level == 5 }",
        r#"when { action in Action::"pay" }"#,
        r#"unless { action in [Action::"pay.refund", Action::"money"] }"#,
        r#"when { resource == Resource::"unspecified" }"#,
        "when { 1 == 1 } unless { context has s }",
        "when { context has payload }",
        "unless { context has payload && context.payload == \"text\" }",
        "when { context[\"server\"] has now || context has server }",
    ];
    let conditions_that_may_fail = [
        "when { context.n > 3 }",
        "when { context.n + 9223372036854775807 > 0 }",
        r#"when { context.s like "a*" }"#,
        "when { principal.level > 2 }",
    ];
    let conditions = prop_oneof![
        12 => select(conditions.to_vec()),
        1 => select(conditions_that_may_fail.to_vec()),
    ];
    let obligations = [
        "",
        "",
        "",
        r#"@obligation("[{\"op\":\"remove\",\"path\":\"/card\"}]")"#,
        r#"@obligation("[{\"op\":\"add\",\"path\":\"/by\",\"value\":\"ID\"}]")"#,
        r#"@obligation("[{\"op\":\"replace\",\"path\":\"/list/0\",\"value\":0}]")"#,
    ];
    let effects = prop_oneof![
        4 => select(obligations.to_vec()).prop_map(|obligation| (obligation, "permit")),
        1 => select(vec!["", r#"@verdict("deny")"#]).prop_map(|verdict| (verdict, "forbid")),
        2 => Just((r#"@verdict("escalate")"#, "forbid")),
    ];
    let reasons = select(vec!["", r#"@reason("why ID")"#]);
    let parts = (
        effects,
        reasons,
        select(principals.to_vec()),
        select(actions.to_vec()),
        select(resources.to_vec()),
        conditions,
    );
    parts.prop_map(|((annotation, effect), reason, principal, action, resource, condition)| {
        format!(r#"@id("ID") {annotation} {reason} {effect} ({principal}, {action}, {resource}) {condition};"#)
    })
}
