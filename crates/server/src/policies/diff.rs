//! `GET /v1/policies/versions/{version}/diff`: what is different between two versions.

use axum::{
    Json as JsonAnswer,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use policy::diff::{Changed, Texts, Written, diff as compare};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    check_pool,
    schema::{ChangedBody, WrittenBody},
    versions::{named_or_active, text_of, unreadable},
};
use crate::{
    edge::{
        Caller, Problem,
        caller::PoliciesRead,
        extract::{self, IdInPath},
    },
    planes::ControlPlane,
};

/// What a version is compared with.
#[derive(Debug, Default, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DiffParams {
    /// The number of the other version; by default the active one.
    #[param(value_type = Option<u32>)]
    against: Option<String>,
}

/// The other version, already read.
#[derive(Debug)]
pub struct Against(Option<u32>);

/// The differences, policy by policy.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyDiff)]
pub struct DiffBody {
    version: u32,
    against: u32,
    /// Policies that only `version` has.
    #[schema(value_type = Vec<WrittenBody>)]
    added: Vec<Written>,
    /// Policies that only `against` has.
    #[schema(value_type = Vec<WrittenBody>)]
    removed: Vec<Written>,
    /// Policies whose text differs.
    #[schema(value_type = Vec<ChangedBody>)]
    changed: Vec<Changed>,
    /// How many policies are identical, character for character.
    unchanged: usize,
    schema_changed: bool,
}

/// Compares two versions.
#[utoipa::path(
    get, path = "/v1/policies/versions/{version}/diff", tag = "policies",
    security(("api_key" = ["policies:read"]), ("session" = [])),
    params(("version" = u32, Path, description = "The version's number"), DiffParams),
    responses((status = 200, description = "The differences", body = DiffBody)),
)]
pub async fn diff(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesRead>,
    IdInPath(version): IdInPath<u32>,
    Against(against): Against,
) -> Result<JsonAnswer<DiffBody>, Problem> {
    let against = named_or_active(&plane, caller.org, against).await?;
    let before = text_of(&plane, caller.org, against).await?;
    let after = text_of(&plane, caller.org, version).await?;
    let compared = check_pool::run(&plane, caller.org, move || {
        let before = Texts {
            policies: &before.policies,
            schema: before.schema.as_deref(),
        };
        let after = Texts {
            policies: &after.policies,
            schema: after.schema.as_deref(),
        };
        compare(before, after)
    });
    let diff = compared.await?;
    let diff = diff.map_err(|faults| unreadable(caller.org, &faults))?;
    Ok(JsonAnswer(DiffBody {
        version,
        against,
        added: diff.added,
        removed: diff.removed,
        changed: diff.changed,
        unchanged: diff.unchanged,
        schema_changed: diff.schema_changed,
    }))
}

impl<S: Send + Sync> FromRequestParts<S> for Against {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut params = DiffParams::default();
        for (name, value) in extract::pairs(parts, state).await? {
            match name.as_str() {
                "against" => extract::once(&name, &mut params.against, value)?,
                _ => return Err(extract::unknown_parameter(&name, &["against"])),
            }
        }
        let against = params.against.map(|text| {
            let detail = "`against` must be the number of a version.";
            text.parse()
                .map_err(|_| Problem::parameter("against", detail))
        });
        Ok(Self(against.transpose()?))
    }
}
