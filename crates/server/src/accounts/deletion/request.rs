//! `/v1/org/deletion`: an owner has the organization deleted, or thinks better of it.
//!
//! Asked for by POST of a thing of its own, not by DELETE of the organization: that takes a password, and proxies may drop
//! the body of a DELETE.

use axum::{Json as JsonAnswer, extract::State, http::HeaderMap};
use domain::{OrgId, Timestamp, account::EmailAddress, error_code::ErrorCode, fault::Fault};
use runtime::error_chain::chain;
use serde::Deserialize;
use store::{deletions::schedule::NotCanceled, members::Organization};
use utoipa::ToSchema;

use crate::{
    accounts::{
        Accounts,
        organization::found,
        own_password::{own_password, prove},
        schema::OrganizationBody,
        security_log::tell,
    },
    edge::{
        Problem,
        caller::{Member, Owner},
        client_address::ClientAddress,
        strict_json::FormJson,
    },
    mail::{Letter, Post},
    planes::ControlPlane,
};

/// An owner's request to delete the organization.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeletionRequest {
    /// The organization's name, so that nobody deletes the wrong one.
    name: String,
    /// Your current password: someone who found an open session does not know it.
    current_password: String,
}

/// Schedules your organization to be deleted after a delay, with everything in it; for owners.
///
/// Nothing changes until then (`deletes_at`, 7 days from now unless `accounts.deletion_delay_days` says otherwise), and
/// any owner can cancel it. After that, it cannot be restored. Asking again changes nothing. Every owner is notified by
/// email, and the trail records an event; a wrong `current_password` is recorded like a refused login.
#[utoipa::path(
    post, path = "/v1/org/deletion", tag = "accounts", security(("session" = [])),
    request_body = DeletionRequest,
    responses(
        (status = 200, description = "The organization, with the time of its deletion", body = OrganizationBody),
    ),
)]
pub async fn schedule(
    State(plane): State<Accounts>,
    member: Member<Owner>,
    client: ClientAddress,
    headers: HeaderMap,
    FormJson(request): FormJson<DeletionRequest>,
) -> Result<JsonAnswer<OrganizationBody>, Problem> {
    let organization = found(&plane, &member).await?;
    if request.name.trim() != organization.name {
        let detail = "`name` is not the name of your organization.";
        return Err(Problem::invalid(vec![Fault::invalid("/name", detail)]));
    }
    let own = own_password(&plane, &member).await?;
    let from = (client, &headers);
    prove(&plane, &member, &own, request.current_password, from).await?;
    let now = plane.clock.now();
    let deletes_at = now.plus(plane.deletion_delay);
    let scheduled = plane
        .store
        .schedule_deletion(member.hand(now), deletes_at)
        .await?
        .ok_or_else(no_owner)?;
    tell(&plane, member.org).await;
    let deletes_at = Some(scheduled.deletes_at);
    if scheduled.is_new {
        let by = own.email.as_str();
        tell_owners(&plane, member.org, &organization.name, by, deletes_at).await;
    }
    Ok(JsonAnswer(OrganizationBody::from(Organization {
        deletes_at,
        ..organization
    })))
}

/// Cancels the deletion of your organization; for owners.
#[utoipa::path(
    delete, path = "/v1/org/deletion", tag = "accounts", security(("session" = [])),
    responses(
        (status = 200, description = "The organization, no longer scheduled for deletion", body = OrganizationBody),
    ),
)]
pub async fn cancel(
    State(plane): State<ControlPlane>,
    member: Member<Owner>,
) -> Result<JsonAnswer<OrganizationBody>, Problem> {
    let own = own_password(&plane, &member).await?;
    plane
        .store
        .cancel_deletion(member.hand(plane.clock.now()))
        .await?
        .map_err(not_canceled)?;
    tell(&plane, member.org).await;
    let organization = found(&plane, &member).await?;
    let by = own.email.as_str();
    tell_owners(&plane, member.org, &organization.name, by, None).await;
    Ok(JsonAnswer(OrganizationBody::from(organization)))
}

/// Mails every owner, if there is a mail server. What was decided stands either way, and the trail has it.
async fn tell_owners(
    plane: &ControlPlane,
    org: OrgId,
    org_name: &str,
    by: &str,
    deletes_at: Option<Timestamp>,
) {
    let Some(post) = &plane.post else {
        return;
    };
    match plane.store.owners(org).await {
        Ok(owners) => hand_in(post, &owners, org_name, by, deletes_at),
        Err(error) => {
            let error = chain(&error);
            tracing::warn!(error, org.id = %org, "could not mail the owners about a deletion");
        }
    }
}

fn hand_in(
    post: &Post,
    owners: &[String],
    org_name: &str,
    by: &str,
    deletes_at: Option<Timestamp>,
) {
    for email in owners.iter().filter_map(|email| EmailAddress::parse(email)) {
        post.hand_in(Letter::Deletion {
            email,
            org_name: org_name.to_owned(),
            by: by.to_owned(),
            deletes_at,
        });
    }
}

/// They were one when the request came in.
fn no_owner() -> Problem {
    Problem::new(ErrorCode::Forbidden, "This needs the role `owner`.")
}

fn not_canceled(refused: NotCanceled) -> Problem {
    match refused {
        NotCanceled::NotAllowed => no_owner(),
        NotCanceled::NotScheduled => {
            let detail = "Your organization is not scheduled for deletion.";
            Problem::new(ErrorCode::NotFound, detail)
        }
        NotCanceled::HasBegun => {
            let detail = "Your organization is being deleted; it is too late to cancel.";
            Problem::new(ErrorCode::StateConflict, detail)
        }
    }
}
