//! `POST /v1/policies/validate`: what is wrong with policies, without saving them; and the same before they are.

use axum::{Json as JsonAnswer, extract::State};
use domain::{fault::Fault, guard::PolicyText};
use policy::PolicySet;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::policies::versions::Written;
use utoipa::ToSchema;

use crate::{
    edge::{
        Caller, Problem,
        caller::PoliciesWrite,
        problem::{FaultBody, Refusals},
        rule_body::PolicyJson,
    },
    planes::ControlPlane,
};

/// How long the texts of a version may be as JSON: the data plane is told two versions in one message of the journal,
/// which has 1 MiB.
const TOLD_BYTES_MAX: usize = 510 * 1024;

/// Policies as somebody writes them.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewPolicyVersion)]
pub struct NewVersion {
    /// All policies, in Cedar, each with an `@id` of its own.
    #[schema(example = "@id(\"allow-all\")\npermit (principal, action, resource);")]
    policies: String,
    /// Their schema, in Cedar's syntax of schemas. With one, policies and questions are checked against it.
    schema: Option<String>,
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    tests: Vec<Value>,
    /// Why there is this version, at most 500 characters.
    pub note: Option<String>,
}

/// What is wrong, and what is doubtful.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyValidation)]
pub struct Validation {
    /// Whether it could be saved.
    valid: bool,
    /// Follows from the texts.
    digest: String,
    #[schema(value_type = Vec<FaultBody>)]
    errors: Vec<Fault>,
}

/// Checks policies.
///
/// As they are checked when they are saved, tests too; nothing is saved.
#[utoipa::path(
    post, path = "/v1/policies/validate", tag = "policies",
    security(("api_key" = ["policies:write"]), ("session" = [])),
    request_body = NewVersion,
    responses((status = 200, description = "What was found, also if they are not valid", body = Validation), Refusals),
)]
pub async fn validate(
    State(plane): State<ControlPlane>,
    _: Caller<PoliciesWrite>,
    PolicyJson(new): PolicyJson<NewVersion>,
) -> Result<JsonAnswer<Validation>, Problem> {
    let (digest, checked) = plane
        .checks
        .run(move || (new.digest(), new.check()))
        .await?;
    let errors = checked.err().unwrap_or_default();
    Ok(JsonAnswer(Validation {
        valid: errors.is_empty(),
        digest,
        errors,
    }))
}

/// A version that may be saved, or everything that is wrong with it.
pub(super) async fn checked(plane: &ControlPlane, new: NewVersion) -> Result<Written, Problem> {
    let checked = plane.checks.run(move || {
        let size = new.check()?;
        Ok(new.written(size))
    });
    checked.await?.map_err(Problem::invalid)
}

impl NewVersion {
    fn digest(&self) -> String {
        policy::set::digest(&self.policies, self.schema.as_deref())
    }

    /// How many policies there are, or what is wrong.
    fn check(&self) -> Result<u32, Vec<Fault>> {
        let read = PolicySet::read(&self.policies, self.schema.as_deref())?;
        let told = PolicyText {
            version: u32::MAX,
            digest: read.digest().to_owned(),
            policies: self.policies.clone(),
            schema: self.schema.clone(),
        };
        let told = serde_json::to_string(&told).expect("a text always encodes");
        if told.len() > TOLD_BYTES_MAX {
            let detail = format!(
                "As JSON, policies and schema are {} bytes and may be {TOLD_BYTES_MAX}. Use fewer line breaks, \
                 tabs and quotation marks, or take comments out.",
                told.len()
            );
            return Err(vec![Fault::invalid("/policies", detail)]);
        }
        Ok(u32::try_from(read.len()).unwrap_or(u32::MAX))
    }

    fn written(self, size: u32) -> Written {
        Written {
            digest: self.digest(),
            tests: serde_json::to_string(&self.tests).expect("tests are JSON"),
            policies: self.policies,
            schema: self.schema,
            note: self.note,
            size,
        }
    }
}
