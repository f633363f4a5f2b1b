//! `GET /v1/policies/templates`: policies to begin with.

use axum::Json as JsonAnswer;
use policy::{
    templates::{TEMPLATES, Template},
    test::Test,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema::TestBody;
use crate::edge::{Caller, caller::PoliciesRead};

/// All templates.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyTemplates)]
pub struct TemplateList {
    data: Vec<TemplateBody>,
}

/// Policies for one purpose, to copy next to others and adapt.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyTemplate)]
pub struct TemplateBody {
    #[schema(example = "payments-need-approval")]
    id: &'static str,
    title: &'static str,
    description: &'static str,
    /// The policies, in Cedar. They restrict what others permit, so they need policies such as `allow-all` next to
    /// them.
    policies: &'static str,
    /// Tests that pass when `allow-all` is present.
    #[schema(value_type = Vec<TestBody>)]
    tests: Vec<Test>,
}

/// Lists policy templates to start from.
///
/// Each serves one purpose and comes with tests. Copy one next to your own policies and adapt it.
#[utoipa::path(
    get, path = "/v1/policies/templates", tag = "policies",
    security(("api_key" = ["policies:read"]), ("session" = [])),
    responses((status = 200, description = "All templates", body = TemplateList)),
)]
pub async fn list(_: Caller<PoliciesRead>) -> JsonAnswer<TemplateList> {
    JsonAnswer(TemplateList {
        data: TEMPLATES.iter().map(TemplateBody::from).collect(),
    })
}

impl From<&Template> for TemplateBody {
    fn from(template: &Template) -> Self {
        Self {
            id: template.id,
            title: template.title,
            description: template.description,
            policies: template.policies,
            tests: template.tests(),
        }
    }
}
