//! Tests that stand beside policies: a question, and what is expected.

use domain::{
    Timestamp,
    fault::{Fault, FaultCode},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    cedar_request::CedarRequest,
    question::{Party, Question},
    set::PolicySet,
    verdict::{Failed, Verdict},
};

/// How many tests a version may have.
pub const TESTS_MAX: usize = 200;

/// How long all tests of a version may be as JSON; they are kept with it.
pub const TESTS_BYTES_MAX: usize = 256 * 1024;

/// How long a test's name may be.
pub const NAME_CHARS_MAX: usize = 128;

/// A question whose answer is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    pub name: String,
    pub question: TestQuestion,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// When it is asked: `context.server.now`. Without it there is no clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<Timestamp>,
    /// As if a person had approved it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
    pub expect: Expect,
}

/// A question in short (`agent_id`, and `resource` as `type:id`) or whole, as it is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestQuestion {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<Party>,
    pub action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<TestResource>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
}

/// What a question is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TestResource {
    Text(String),
    Party(Party),
}

/// What should be answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    pub decision: Verdict,
    /// Exactly the policies that should decide, in any order; whichever they are if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policies: Option<Vec<String>>,
}

/// What became of a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestResult {
    pub name: String,
    pub passed: bool,
    pub expected: Expect,
    pub decision: Verdict,
    pub policies: Vec<String>,
    pub reason: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Failed>,
}

impl Test {
    /// Puts the question to a set. The test must be free of [`faults`].
    pub fn run(&self, set: &PolicySet) -> TestResult {
        let result = |decision, policies: Vec<String>, reason, errors| TestResult {
            name: self.name.clone(),
            passed: self.expect.is_met(decision, &policies),
            expected: self.expect.clone(),
            decision,
            policies,
            reason,
            errors,
        };
        let asked = self.question.whole().map_err(|fault| vec![fault]);
        match asked.and_then(|question| CedarRequest::new(&question)) {
            Ok(asked) => {
                let payload = self.payload.as_ref();
                let decided = match self.now {
                    Some(now) => set.decide_at(now, &asked, payload, self.approved),
                    None => set.decide(&asked, payload, self.approved),
                };
                let policies = decided.policies.into_iter().map(|policy| policy.id);
                result(
                    decided.verdict,
                    policies.collect(),
                    decided.reason,
                    decided.errors,
                )
            }
            Err(faults) => {
                let reason = faults.first().map(ToString::to_string).unwrap_or_default();
                result(Verdict::Deny, Vec::new(), reason, Vec::new())
            }
        }
    }
}

impl TestQuestion {
    /// The question as it would be recorded.
    pub fn whole(&self) -> Result<Question, Fault> {
        let text = match &self.resource {
            Some(TestResource::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let agent_id = self.agent_id.as_deref().unwrap_or_default();
        let mut question = Question::of_agent(agent_id, &self.action, text, self.context.clone());
        if let Some(TestResource::Party(resource)) = &self.resource {
            question.resource = resource.clone();
        }
        match (&self.principal, &self.agent_id) {
            (None, Some(_)) => {}
            (Some(principal), None) => question.principal = principal.clone(),
            _ => {
                let detail = "Say who asks: either `agent_id` or `principal`, not both.";
                return Err(Fault::invalid("/agent_id", detail));
            }
        }
        Ok(question)
    }
}

impl Expect {
    fn is_met(&self, decision: Verdict, policies: &[String]) -> bool {
        let sorted = |policies: &[String]| {
            let mut policies = policies.to_vec();
            policies.sort();
            policies
        };
        let expected = self.policies.as_deref().map(sorted);
        self.decision == decision && expected.is_none_or(|expected| expected == sorted(policies))
    }
}

/// What is wrong with tests, whatever the policies are.
pub(crate) fn faults(tests: &[Test]) -> Vec<Fault> {
    if tests.len() > TESTS_MAX {
        let detail = format!(
            "There may be at most {TESTS_MAX} tests; these are {}.",
            tests.len()
        );
        return vec![Fault::new(FaultCode::FieldTooLong, "/tests", detail)];
    }
    let bytes = serde_json::to_string(tests).map_or(usize::MAX, |text| text.len());
    if bytes > TESTS_BYTES_MAX {
        let detail = format!(
            "The tests may have at most {TESTS_BYTES_MAX} bytes in total; these have {bytes}."
        );
        return vec![Fault::new(FaultCode::FieldTooLong, "/tests", detail)];
    }
    let mut faults = Vec::new();
    let mut names = std::collections::HashSet::new();
    for (index, test) in tests.iter().enumerate() {
        let pointer = format!("/tests/{index}");
        faults
            .extend(Fault::of_name(&test.name, NAME_CHARS_MAX).map(|fault| fault.under(&pointer)));
        if !names.insert(&test.name) {
            let detail = "Another test has this name.";
            let pointer = format!("{pointer}/name");
            faults.push(Fault::new(FaultCode::FieldDuplicated, pointer, detail));
        }
        let asked = test.question.whole().map_err(|fault| vec![fault]);
        if let Err(wrong) =
            asked.and_then(|question| CedarRequest::by_somebody(&question).map(drop))
        {
            let pointer = format!("{pointer}/question");
            faults.extend(wrong.into_iter().map(|fault| fault.under(&pointer)));
        }
    }
    faults
}
