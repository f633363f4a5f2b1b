//! What the API document says of policies' tests, warnings and differences, which `policy` reads and writes.
#![expect(
    dead_code,
    reason = "describes bodies of another crate; nothing is read into it"
)]

use serde_json::Value;
use utoipa::ToSchema;

use crate::{decisions::decide::PolicyError, edge::words::DecisionWord};

/// Something that may not be as it was meant.
#[derive(ToSchema)]
#[schema(as = PolicyWarning)]
pub struct WarningBody {
    #[schema(example = "/policies")]
    pointer: String,
    detail: String,
}

/// A question whose answer is known.
#[derive(ToSchema)]
#[schema(as = PolicyTest)]
pub struct TestBody {
    name: String,
    /// In short (`agent_id`, `action`, and `resource` as `type:id`) or whole, as it is recorded.
    #[schema(value_type = Object)]
    question: Value,
    /// What policies see as `context.payload`, and `@obligation` changes.
    #[schema(value_type = Option<Object>)]
    payload: Option<Value>,
    /// When it is asked, which policies see as `context.server.now`; without it there is no clock.
    #[schema(value_type = Option<String>, format = DateTime)]
    now: Option<String>,
    /// As if a person had approved it.
    #[schema(required = false)]
    approved: bool,
    expect: ExpectBody,
}

/// What should be answered.
#[derive(ToSchema)]
#[schema(as = PolicyTestExpectation)]
pub struct ExpectBody {
    decision: DecisionWord,
    /// Exactly the policies that should decide, in any order; whichever they are if left out.
    policies: Option<Vec<String>>,
}

/// What became of a test.
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

/// A policy as it is written, with its annotations.
#[derive(ToSchema)]
#[schema(as = PolicyText)]
pub struct WrittenBody {
    id: String,
    text: String,
}

/// A policy that was written anew.
#[derive(ToSchema)]
#[schema(as = PolicyChange)]
pub struct ChangedBody {
    id: String,
    /// In `against`.
    before: String,
    after: String,
}
