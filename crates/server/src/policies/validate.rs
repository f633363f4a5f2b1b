//! `POST /v1/policies/validate`: what is wrong with policies, without saving them; and the same before they are.

use axum::{Json as JsonAnswer, extract::State};
use domain::{
    OrgId,
    fault::{Fault, FaultCode},
    guard::PolicyText,
};
use policy::{
    check::{Report, Warning, check},
    test::{Test, TestResult},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::policies::versions::Written;
use utoipa::ToSchema;

use super::{
    check_pool,
    schema::{TestBody, TestResultBody, WarningBody},
};
use crate::{
    edge::{Caller, Problem, caller::PoliciesWrite, problem::FaultBody, strict_json::PolicyJson},
    planes::ControlPlane,
};

/// How long the texts of a version may be as JSON: the data plane is told two versions in one message of the journal,
/// which has 1 MiB.
const TOLD_BYTES_MAX: usize = 510 * 1024;

/// New policies to save as a version.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewPolicyVersion)]
pub struct NewVersion {
    /// All policies, in Cedar, each with its own `@id`; at most 1,000, and 384 KiB including the schema.
    #[schema(example = "@id(\"allow-all\")\npermit (principal, action, resource);")]
    policies: String,
    /// Their schema, in Cedar's schema syntax. If there is one, policies and questions are checked against it.
    schema: Option<String>,
    /// Questions with known answers, at most 200. A version that answers differently is not saved.
    #[serde(default)]
    #[schema(value_type = Vec<TestBody>)]
    tests: Vec<Value>,
    /// Why this version exists, at most 500 characters.
    pub note: Option<String>,
}

/// What is wrong, and what looks doubtful.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyValidation)]
pub struct Validation {
    /// Whether it could be saved: there are no errors, and all tests passed.
    valid: bool,
    /// Derived from the texts.
    digest: String,
    #[schema(value_type = Vec<FaultBody>)]
    errors: Vec<Fault>,
    /// What may not be as intended.
    #[schema(value_type = Vec<WarningBody>)]
    warnings: Vec<Warning>,
    /// The result of each test. No test is run if there are errors.
    #[schema(value_type = Vec<TestResultBody>)]
    tests: Vec<TestResult>,
    /// How many policies there are.
    size: usize,
    /// Policies that name neither an action nor a principal, so that every question has to be checked against them. At
    /// most 200.
    unsliceable: usize,
    /// The cost of the most expensive question, over the policies that can apply to it: the bytes of their `like`
    /// patterns, plus 4 for anything else that looks at values of the question. At most 1,500; 0 if there are errors.
    cost: usize,
}

/// Checks policies.
///
/// Runs the same checks as saving does, including tests; nothing is saved.
#[utoipa::path(
    post, path = "/v1/policies/validate", tag = "policies",
    security(("api_key" = ["policies:write"]), ("session" = [])),
    request_body = NewVersion,
    responses((status = 200, description = "The findings, whether or not the policies are valid", body = Validation)),
)]
pub async fn validate(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesWrite>,
    PolicyJson(new): PolicyJson<NewVersion>,
) -> Result<JsonAnswer<Validation>, Problem> {
    let work = move || (new.digest(), new.check().1);
    let (digest, report) = check_pool::run(&plane, caller.org, work).await?;
    Ok(JsonAnswer(Validation {
        valid: report.is_good(),
        digest,
        errors: report.errors,
        warnings: report.warnings,
        tests: report.tests,
        size: report.policies,
        unsliceable: report.unsliceable,
        cost: report.cost,
    }))
}

/// A version that may be saved, or everything that is wrong with it.
pub(super) async fn checked(
    plane: &ControlPlane,
    org: OrgId,
    new: NewVersion,
) -> Result<Written, Problem> {
    let checked = check_pool::run(plane, org, move || {
        let (tests, report) = new.check();
        if report.is_good() {
            let size = u32::try_from(report.policies).unwrap_or(u32::MAX);
            Ok(new.written(&tests, size))
        } else {
            Err(with_failed_tests(&report))
        }
    });
    checked.await?.map_err(Problem::invalid)
}

impl NewVersion {
    fn digest(&self) -> String {
        policy::set::digest(&self.policies, self.schema.as_deref())
    }

    fn check(&self) -> (Vec<Test>, Report) {
        let (tests, unreadable) = match self.read_tests() {
            Ok(tests) => (tests, Vec::new()),
            Err(faults) => (Vec::new(), faults),
        };
        let mut report = check(&self.policies, self.schema.as_deref(), &tests);
        report.errors.extend(unreadable);
        report.errors.extend(self.fault_of_length());
        report.errors.extend(self.faults_of_nul());
        (tests, report)
    }

    fn read_tests(&self) -> Result<Vec<Test>, Vec<Fault>> {
        let (mut tests, mut faults) = (Vec::new(), Vec::new());
        for (index, test) in self.tests.iter().enumerate() {
            match Test::deserialize(test) {
                Ok(test) => tests.push(test),
                Err(error) => {
                    let detail = format!("This is not a test: {error}.");
                    faults.push(Fault::invalid(format!("/tests/{index}"), detail));
                }
            }
        }
        if faults.is_empty() {
            Ok(tests)
        } else {
            Err(faults)
        }
    }

    fn fault_of_length(&self) -> Option<Fault> {
        let told = PolicyText {
            version: u32::MAX,
            digest: self.digest(),
            policies: self.policies.clone(),
            schema: self.schema.clone(),
        };
        let bytes = serde_json::to_string(&told).map_or(usize::MAX, |text| text.len());
        (bytes > TOLD_BYTES_MAX).then(|| {
            let detail = format!(
                "As JSON, the policies and schema are {bytes} bytes, and at most {TOLD_BYTES_MAX} are allowed. Use \
                 fewer line breaks, tabs and quotation marks, or remove comments."
            );
            Fault::new(FaultCode::FieldTooLong, "/policies", detail)
        })
    }

    /// PostgreSQL text cannot hold it; in Cedar it may stand in comments and strings.
    fn faults_of_nul(&self) -> impl Iterator<Item = Fault> {
        let policies = Some(self.policies.as_str());
        let texts = [("/policies", policies), ("/schema", self.schema.as_deref())];
        let wrong = texts
            .into_iter()
            .filter(|(_, text)| text.is_some_and(|text| text.contains('\0')));
        wrong.map(|(pointer, _)| Fault::invalid(pointer, "This must not contain NUL."))
    }

    fn written(self, tests: &[Test], size: u32) -> Written {
        Written {
            digest: self.digest(),
            tests: serde_json::to_string(tests).expect("tests are JSON"),
            policies: self.policies,
            schema: self.schema,
            note: self.note,
            size,
        }
    }
}

/// The errors, or if there are none, what tests expected and did not get.
fn with_failed_tests(report: &Report) -> Vec<Fault> {
    let tests = report.tests.iter().enumerate();
    let failed = tests.filter(|(_, test)| !test.passed);
    let failed = failed.map(|(index, test)| {
        let by = |policies: &[String]| match policies {
            [] => String::new(),
            policies => format!(" by `{}`", policies.join("`, `")),
        };
        let expected = &test.expected;
        let detail = format!(
            "The test `{}` expects {}{} and gets {}{}: {}",
            test.name,
            expected.decision.as_str(),
            by(expected.policies.as_deref().unwrap_or_default()),
            test.decision.as_str(),
            by(&test.policies),
            test.reason,
        );
        Fault::invalid(format!("/tests/{index}"), detail)
    });
    report.errors.iter().cloned().chain(failed).collect()
}
