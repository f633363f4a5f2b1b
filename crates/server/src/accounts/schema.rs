//! What several account endpoints say.

use axum::Json as JsonAnswer;
use domain::{
    OrgId, Timestamp, UserId,
    account::{Role, SecretToken, TokenKind},
    error_code::ErrorCode,
};
use serde::Serialize;
use store::members::{Member, Organization};
use utoipa::ToSchema;

use crate::edge::operators::Operators;
use crate::edge::{Problem, enums::MemberRole};

/// Who is logged in, and their organization.
#[derive(Serialize, ToSchema)]
pub struct WhoBody {
    user: UserBody,
    #[serde(rename = "organisation")]
    organization: OrganizationBody,
}

/// A person.
#[derive(Serialize, ToSchema)]
pub struct UserBody {
    #[schema(value_type = String, example = "usr_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: UserId,
    #[schema(example = "ann@example.com")]
    email: String,
    #[schema(value_type = MemberRole, example = "admin")]
    role: Role,
    /// Whether they operate this deployment (`accounts.operators`) and may therefore see `GET /v1/system`.
    operator: bool,
}

/// An organization.
#[derive(Serialize, ToSchema)]
pub struct OrganizationBody {
    #[schema(value_type = String, example = "org_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: OrgId,
    name: String,
    /// When it will be deleted, with everything in it; absent unless a deletion is scheduled. An owner can cancel until
    /// then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    deletes_at: Option<Timestamp>,
}

/// The response to a request that is processed later: the same for everyone.
#[derive(Serialize, ToSchema)]
pub struct AcceptedBody {
    message: &'static str,
}

impl WhoBody {
    pub fn new(member: Member, organization: Organization, operators: &Operators) -> Self {
        Self {
            user: UserBody {
                id: member.user,
                operator: operators.include(&member.email),
                email: member.email,
                role: member.role,
            },
            organization: OrganizationBody::from(organization),
        }
    }
}

impl From<Organization> for OrganizationBody {
    fn from(organization: Organization) -> Self {
        Self {
            id: organization.org,
            name: organization.name,
            deletes_at: organization.deletes_at,
        }
    }
}

pub fn accepted(message: &'static str) -> JsonAnswer<AcceptedBody> {
    JsonAnswer(AcceptedBody { message })
}

/// The token of a link, as far as its form goes.
pub fn link_token(text: &str) -> Result<SecretToken, Problem> {
    SecretToken::parse(TokenKind::Link, text).ok_or_else(token_invalid)
}

/// One and the same answer for every link that does not work.
pub fn token_invalid() -> Problem {
    Problem::new(ErrorCode::TokenInvalid, ErrorCode::TokenInvalid.summary())
}
