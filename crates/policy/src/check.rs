//! Whether texts can become a version: Cedar's strict validation, and the tests that stand beside
//! policies.

use cedar_policy::{
    PrincipalConstraint, ResourceConstraint, ValidationMode, Validator, ffi::DetailedError,
};
use domain::fault::{Fault, pointer_to};
use serde::Serialize;

use crate::{
    set::{Age, FAULTS_MAX, Named, Parsed, PolicySet, told},
    slice::is_unsliceable,
    test::{self, Test, TestResult},
    verdict::Effect,
    vocabulary::Declaration,
};

/// How much work a validation may be: bytes of policies, times the combinations of principal, action and
/// resource that the schema knows, because Cedar looks at every policy for each. Some ten seconds if
/// every policy could apply to everything; far less if they name actions.
pub const VALIDATION_MAX: usize = 500_000_000;

/// What there is to say about texts before they are relied on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The texts cannot become a version.
    pub errors: Vec<Fault>,
    /// They can, and may not do what was meant.
    pub warnings: Vec<Warning>,
    /// What became of each test; none was run if there are errors.
    pub tests: Vec<TestResult>,
    /// How many policies there are.
    pub policies: usize,
    /// How many policies every question meets, because they name neither an action nor a principal.
    pub unsliceable: usize,
    /// What the dearest question costs them; not known if there are errors.
    pub cost: usize,
}

/// Something that may not be as it was meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    pub pointer: String,
    pub detail: String,
}

impl Report {
    /// Whether there are no errors and all tests passed.
    pub fn is_good(&self) -> bool {
        self.errors.is_empty() && self.tests.iter().all(|test| test.passed)
    }
}

/// Checks texts and runs their tests. This may take seconds, so it is no work for a thread that serves
/// others.
pub fn check(policies: &str, schema: Option<&str>, tests: &[Test]) -> Report {
    let parsed = match Parsed::read(policies, schema, Age::New) {
        Ok(parsed) => parsed,
        Err(errors) => {
            return Report {
                errors,
                ..Report::default()
            };
        }
    };
    let unsliceable = |named: &&Named| is_unsliceable(&named.policy);
    let mut report = Report {
        errors: test::faults(tests),
        policies: parsed.policies.len(),
        unsliceable: parsed.policies.iter().filter(unsliceable).count(),
        ..Report::default()
    };
    validate(parsed, policies, &mut report);
    report.errors.truncate(FAULTS_MAX);
    report.warnings.truncate(FAULTS_MAX);
    if report.errors.is_empty() {
        match PolicySet::read(policies, schema) {
            Ok(set) => {
                report.cost = set.cost();
                report.tests = tests.iter().map(|test| test.run(&set)).collect();
            }
            Err(errors) => report.errors = errors,
        }
    }
    report
}

fn validate(parsed: Parsed, text: &str, report: &mut Report) {
    let warn = |pointer: String, detail: &str| Warning {
        pointer,
        detail: detail.to_owned(),
    };
    let mut has_permit = false;
    for Named { policy, terms, .. } in &parsed.policies {
        has_permit |= terms.told.effect == Effect::Permit;
        let is_in_group = matches!(
            policy.principal_constraint(),
            PrincipalConstraint::In(_) | PrincipalConstraint::IsIn(..)
        ) || matches!(
            policy.resource_constraint(),
            ResourceConstraint::In(_) | ResourceConstraint::IsIn(..)
        );
        if is_in_group {
            report.warnings.push(warn(
                format!("/policies{}", pointer_to(terms.id())),
                "Principals and resources do not belong to groups, so `in` is the same as `==` for them. Only actions have groups.",
            ));
        }
    }
    if !has_permit {
        let detail = "No policy permits anything, so every question is denied.";
        report.warnings.push(warn("/policies".to_owned(), detail));
    }
    let Some(Declaration { schema, .. }) = parsed.schema else {
        let detail = "There is no schema, so misspelled names and wrong types only show when a decision is made.";
        report.warnings.push(warn("/schema".to_owned(), detail));
        return;
    };
    let combinations = VALIDATION_MAX / text.len().max(1);
    if schema.request_envs().nth(combinations).is_some() {
        let detail = format!(
            "The schema allows more than {combinations} combinations of principal, action and resource, too \
             many to check all policies against each. Let actions apply to fewer types."
        );
        report.errors.push(Fault::invalid("/schema", detail));
        return;
    }
    let policies = parsed.policies.into_iter().map(|named| named.policy);
    let policies = match cedar_policy::PolicySet::from_policies(policies) {
        Ok(policies) => policies,
        Err(error) => {
            let fault = Fault::invalid("/policies", format!("Cedar says: {error}."));
            report.errors.push(fault);
            return;
        }
    };
    let result = Validator::new(schema).validate(&policies, ValidationMode::Strict);
    let pointer = |id: &cedar_policy::PolicyId| format!("/policies{}", pointer_to(id.as_ref()));
    report
        .errors
        .extend(result.validation_errors().map(|error| {
            let detail = told(&DetailedError::from(error), text);
            Fault::invalid(pointer(error.policy_id()), detail)
        }));
    report
        .warnings
        .extend(result.validation_warnings().map(|warning| {
            let detail = told(&DetailedError::from(warning), text);
            warn(pointer(warning.policy_id()), &detail)
        }));
}
