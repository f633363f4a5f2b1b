//! `GET /v1/policies/templates`: policies to begin with.

use axum::Json as JsonAnswer;
use policy::{
    templates::{TEMPLATES, Template},
    test::Test,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema::TestBody;
use crate::edge::{Caller, caller::PoliciesRead, problem::Refusals};

/// All templates.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyTemplates)]
pub struct TemplateList {
    data: Vec<TemplateBody>,
}

/// Policies for one purpose, to be copied beside others and changed.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyTemplate)]
pub struct TemplateBody {
    #[schema(example = "payments-need-approval")]
    id: &'static str,
    title: &'static str,
    description: &'static str,
    /// In Cedar. They take something away from what others permit, so they stand beside such as `allow-all`.
    policies: &'static str,
    /// Tests that hold beside `allow-all`.
    #[schema(value_type = Vec<TestBody>)]
    tests: Vec<Test>,
}

/// Lists policies to begin with.
///
/// Each is for one purpose and comes with tests. Copy one beside your own policies and change it.
#[utoipa::path(
    get, path = "/v1/policies/templates", tag = "policies",
    security(("api_key" = ["policies:read"]), ("session" = [])),
    responses((status = 200, description = "All of them", body = TemplateList), Refusals),
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
