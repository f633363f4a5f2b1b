//! `/v1/views`: people save, list, change and delete views.

use std::collections::BTreeMap;

use axum::{Json as JsonAnswer, extract::State, http::StatusCode};
use domain::{
    Timestamp, UserId, ViewId,
    error_code::ErrorCode,
    fault::Fault,
    query::List,
    view::{NAME_CHARS_MAX, Search},
};
use runtime::random;
use serde::{Deserialize, Serialize};
use store::views::{Audience, EACH_MAX, Refused, View, ViewChange};
use utoipa::ToSchema;

use crate::{
    accounts::security_log::tell,
    edge::{
        Problem,
        caller::{Anybody, Member},
        enums::QueryList,
        extract::{IdInPath, Json},
    },
    planes::ControlPlane,
};

/// A view to save.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewView)]
pub struct NewViewBody {
    /// What is searched.
    #[schema(value_type = QueryList, example = "events")]
    list: List,
    /// 1 to 80 characters. A list has only one view with this name among your own, and one among those that are shared.
    #[schema(example = "Denied refunds")]
    name: String,
    /// The parameters of the search, each with its values, as in the console's address: a query as `filter`, the
    /// filters of the list, and the time as `last` or as `from` and `to`. Up to 20 values for a filter and 2,560 bytes in
    /// all.
    #[schema(example = json!({"filter": ["result:denied action:payments.*"], "last": ["7d"]}))]
    search: BTreeMap<String, Vec<String>>,
    /// Shared with the whole organization (default false). Only admins and owners can set it.
    #[serde(default)]
    shared: bool,
}

/// What to change about a view.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ViewChange)]
pub struct ViewChangeBody {
    /// 1 to 80 characters.
    name: Option<String>,
    /// Replaces all parameters.
    search: Option<BTreeMap<String, Vec<String>>>,
}

/// A search under a name.
#[derive(Serialize, ToSchema)]
#[schema(as = View)]
pub struct ViewBody {
    #[schema(value_type = String, example = "vie_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: ViewId,
    #[schema(value_type = QueryList)]
    list: List,
    #[schema(example = "Denied refunds")]
    name: String,
    #[schema(value_type = BTreeMap<String, Vec<String>>)]
    search: Search,
    /// Whether it is shared with the whole organization.
    shared: bool,
    /// Who saved it.
    #[schema(value_type = String)]
    created_by: UserId,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

/// All views that a person has.
#[derive(Serialize, ToSchema)]
pub struct Views {
    data: Vec<ViewBody>,
}

/// Lists your views and the shared ones, by name.
///
/// At most 200: 100 of your own, and 100 that are shared.
#[utoipa::path(
    get, path = "/v1/views", tag = "views", security(("session" = [])),
    responses(
        (status = 200, description = "All of them", body = Views),
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
) -> Result<JsonAnswer<Views>, Problem> {
    let views = plane.store.views(member.org, member.user).await?;
    Ok(JsonAnswer(Views {
        data: views.into_iter().map(ViewBody::from).collect(),
    }))
}

/// Saves a view, for yourself or, as an admin or owner, for everyone in the organization.
#[utoipa::path(
    post, path = "/v1/views", tag = "views", security(("session" = [])),
    request_body = NewViewBody,
    responses(
        (status = 201, description = "Saved", body = ViewBody),
    ),
)]
pub async fn create(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
    Json(wanted): Json<NewViewBody>,
) -> Result<(StatusCode, JsonAnswer<ViewBody>), Problem> {
    let search = Search::parse(wanted.list, wanted.search);
    let search = checked(Some(wanted.name.as_str()), search)?;
    let now = plane.clock.now();
    let view = View {
        id: ViewId::new(now, random::bytes()),
        list: wanted.list,
        name: wanted.name,
        search,
        audience: if wanted.shared {
            Audience::All
        } else {
            Audience::Only(member.user)
        },
        created_by: member.user,
        created_at: now,
        updated_at: now,
    };
    plane
        .store
        .save_view(member.org, &view)
        .await?
        .map_err(refusal)?;
    tell(&plane, member.org).await;
    Ok((StatusCode::CREATED, JsonAnswer(ViewBody::from(view))))
}

/// Changes the name or the search of a view.
///
/// Only admins and owners can change a shared view.
#[utoipa::path(
    patch, path = "/v1/views/{id}", tag = "views", security(("session" = [])),
    params(("id" = String, Path, description = "The view's id")),
    request_body = ViewChangeBody,
    responses(
        (status = 200, description = "The view after the change", body = ViewBody),
    ),
)]
pub async fn update(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
    IdInPath(id): IdInPath<ViewId>,
    Json(wanted): Json<ViewChangeBody>,
) -> Result<JsonAnswer<ViewBody>, Problem> {
    let found = plane.store.view(member.org, member.user, id).await?;
    let found = found.ok_or_else(|| refusal(Refused::NotFound))?;
    let search = wanted
        .search
        .map(|search| Search::parse(found.list, search));
    let search = checked(wanted.name.as_deref(), search.transpose())?;
    let change = ViewChange {
        name: wanted.name,
        search,
    };
    let hand = member.hand(plane.clock.now());
    let changed = plane
        .store
        .change_view(hand, id, change)
        .await?
        .map_err(refusal)?;
    tell(&plane, member.org).await;
    Ok(JsonAnswer(ViewBody::from(changed)))
}

/// Deletes a view.
///
/// Only admins and owners can delete a shared view.
#[utoipa::path(
    delete, path = "/v1/views/{id}", tag = "views", security(("session" = [])),
    params(("id" = String, Path, description = "The view's id")),
    responses(
        (status = 204, description = "Deleted"),
    ),
)]
pub async fn delete(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
    IdInPath(id): IdInPath<ViewId>,
) -> Result<StatusCode, Problem> {
    let hand = member.hand(plane.clock.now());
    plane.store.delete_view(hand, id).await?.map_err(refusal)?;
    tell(&plane, member.org).await;
    Ok(StatusCode::NO_CONTENT)
}

/// The search, or everything that is wrong with it and with the name.
fn checked<S>(name: Option<&str>, search: Result<S, Vec<Fault>>) -> Result<S, Problem> {
    let mut faults = Vec::new();
    faults.extend(name.and_then(|name| Fault::of_name(name, NAME_CHARS_MAX)));
    match search {
        Ok(search) if faults.is_empty() => return Ok(search),
        Ok(_) => {}
        Err(wrong) => faults.extend(wrong),
    }
    Err(Problem::invalid(faults))
}

fn refusal(refused: Refused) -> Problem {
    match refused {
        Refused::NotFound => Problem::not_found("view"),
        Refused::NotAllowed => Problem::new(
            ErrorCode::Forbidden,
            "Only admins and owners can save, change or delete shared views. You can save a view for yourself.",
        ),
        Refused::NameTaken => {
            let detail = "This list already has a view with this name. Choose another name.";
            Problem::invalid(vec![Fault::invalid("/name", detail)])
        }
        Refused::TooMany(audience) => {
            let whose = match audience {
                Audience::All => "Your organization shares",
                Audience::Only(_) => "You have",
            };
            let detail = format!("{whose} {EACH_MAX} views already. Delete one first.");
            Problem::new(ErrorCode::LimitReached, detail)
        }
    }
}

impl From<View> for ViewBody {
    fn from(view: View) -> Self {
        Self {
            id: view.id,
            list: view.list,
            name: view.name,
            search: view.search,
            shared: view.audience == Audience::All,
            created_by: view.created_by,
            created_at: view.created_at,
            updated_at: view.updated_at,
        }
    }
}
