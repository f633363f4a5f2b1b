//! What the API document says of policies' tests, warnings and differences, which `policy` reads and writes.
#![expect(
    dead_code,
    reason = "describes bodies of another crate; nothing is read into it"
)]

use serde_json::Value;
use utoipa::ToSchema;

use crate::{decisions::decide::PolicyError, edge::enums::DecisionWord};

/// Something that may not be as intended.
#[derive(ToSchema)]
#[schema(as = PolicyWarning)]
pub struct WarningBody {
    #[schema(example = "/policies")]
    pointer: String,
    detail: String,
}

/// A question with a known answer.
#[derive(ToSchema)]
#[schema(as = PolicyTest)]
pub struct TestBody {
    name: String,
    /// In short form (`agent_id`, `action`, and `resource` as `type:id`), or in full, as recorded.
    #[schema(value_type = Object)]
    question: Value,
    /// What policies see as `context.payload`, and what `@obligation` changes.
    payload: Option<Value>,
    /// When the question is asked, which policies see as `context.server.now`; without it, policies see no clock.
    #[schema(value_type = Option<String>, format = DateTime)]
    now: Option<String>,
    /// Answer as if a person had approved it.
    #[schema(required = false)]
    approved: bool,
    expect: ExpectBody,
}

/// The expected answer.
#[derive(ToSchema)]
#[schema(as = PolicyTestExpectation)]
pub struct ExpectBody {
    decision: DecisionWord,
    /// Exactly the policies that should decide, in any order; if left out, any policies may.
    policies: Option<Vec<String>>,
}

/// The result of a test.
#[derive(ToSchema)]
#[schema(as = PolicyTestResult)]
pub struct TestResultBody {
    name: String,
    passed: bool,
    expected: ExpectBody,
    decision: DecisionWord,
    policies: Vec<String>,
    reason: String,
    #[schema(required = false)]
    errors: Vec<PolicyError>,
}

/// A policy as written, with its annotations.
#[derive(ToSchema)]
#[schema(as = PolicyText)]
pub struct WrittenBody {
    id: String,
    text: String,
}

/// A policy whose text changed.
#[derive(ToSchema)]
#[schema(as = PolicyChange)]
pub struct ChangedBody {
    id: String,
    /// Its text in `against`.
    before: String,
    after: String,
}
