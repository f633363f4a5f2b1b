//! Views: searches that people keep under a name, for themselves or for everybody in their organization.

use domain::{
    OrgId, Timestamp, UserId, ViewId,
    account::{Role, security_log::What},
    query::List,
    view::Search,
};
use serde_json::json;
use sqlx::{FromRow, PgExecutor, Postgres, Transaction, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    account_outbox::{Hand, note},
    members::locked_role,
    times::{from_database, to_database},
};

/// How many views an organization shares, and how many each person keeps: more than anybody finds their way in. All that
/// somebody sees is one answer.
pub const EACH_MAX: u32 = 100;

/// A search under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    pub id: ViewId,
    pub list: List,
    pub name: String,
    pub search: Search,
    pub audience: Audience,
    pub created_by: UserId,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Who sees a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Everybody in the organization.
    All,
    Only(UserId),
}

/// What is to be different about a view.
#[derive(Clone, Debug)]
pub struct ViewChange {
    pub name: Option<String>,
    pub search: Option<Search>,
}

/// Why nothing was done with a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is none, or it is somebody else's.
    NotFound,
    /// Only who manages the organization manages what it shares.
    NotAllowed,
    /// The list has another one of this name, for the same people.
    NameTaken,
    /// There are [`EACH_MAX`] for the same people.
    TooMany(Audience),
}

impl Store {
    /// Saves a new view. Who saves it is in `created_by`.
    pub async fn save_view(&self, org: OrgId, view: &View) -> Result<Result<(), Refused>, Error> {
        let mut transaction = self.pool.begin().await?;
        let hand = Hand {
            org,
            user: view.created_by,
            at: view.created_at,
        };
        // The lock that the role is read under also keeps two views from being counted at once.
        let role = locked_role(&mut transaction, org, hand.user).await?;
        if !may_keep(role, hand.user, view.audience) {
            return Ok(Err(Refused::NotAllowed));
        }
        let kept: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM views WHERE org_id = $1 AND user_id IS NOT DISTINCT FROM $2",
        )
        .bind(org.uuid())
        .bind(view.audience.user())
        .fetch_one(&mut *transaction)
        .await?;
        if kept >= i64::from(EACH_MAX) {
            return Ok(Err(Refused::TooMany(view.audience)));
        }
        let saved = sqlx::query(
            "INSERT INTO views (org_id, id, user_id, list, name, search, created_by, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(org.uuid())
        .bind(view.id.uuid())
        .bind(view.audience.user())
        .bind(view.list.as_str())
        .bind(&view.name)
        .bind(search_text(&view.search))
        .bind(view.created_by.uuid())
        .bind(to_database(view.created_at))
        .bind(to_database(view.updated_at))
        .execute(&mut *transaction)
        .await
        .map_err(Error::from);
        match saved {
            Ok(_) => {}
            Err(Error::Conflict) => return Ok(Err(Refused::NameTaken)),
            Err(error) => return Err(error),
        }
        tell(&mut transaction, hand, What::ViewShared, view, None).await?;
        transaction.commit().await?;
        Ok(Ok(()))
    }

    /// The views that somebody sees: their own, and those that everybody sees; by name.
    pub async fn views(&self, org: OrgId, user: UserId) -> Result<Vec<View>, Error> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT id, user_id, list, name, search, created_by, created_at, updated_at FROM views
             WHERE org_id = $1 AND (user_id = $2 OR user_id IS NULL) ORDER BY lower(name), id LIMIT $3",
        )
        .bind(org.uuid())
        .bind(user.uuid())
        .bind(i64::from(2 * EACH_MAX))
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(View::try_from).collect()
    }

    /// A view, if there is one that this person sees.
    pub async fn view(&self, org: OrgId, user: UserId, id: ViewId) -> Result<Option<View>, Error> {
        seen_by(&self.pool, org, user, id).await
    }

    /// Changes a view; as it is then.
    pub async fn change_view(
        &self,
        hand: Hand,
        id: ViewId,
        change: ViewChange,
    ) -> Result<Result<View, Refused>, Error> {
        let mut transaction = self.pool.begin().await?;
        let before = match locked(&mut transaction, hand, id).await? {
            Ok(view) => view,
            Err(refused) => return Ok(Err(refused)),
        };
        let after = View {
            name: change.name.unwrap_or_else(|| before.name.clone()),
            search: change.search.unwrap_or_else(|| before.search.clone()),
            updated_at: hand.at,
            ..before.clone()
        };
        if (&after.name, &after.search) == (&before.name, &before.search) {
            return Ok(Ok(before));
        }
        let changed = sqlx::query(
            "UPDATE views SET name = $3, search = $4, updated_at = $5 WHERE org_id = $1 AND id = $2",
        )
        .bind(hand.org.uuid())
        .bind(id.uuid())
        .bind(&after.name)
        .bind(search_text(&after.search))
        .bind(to_database(after.updated_at))
        .execute(&mut *transaction)
        .await
        .map_err(Error::from);
        match changed {
            Ok(_) => {}
            Err(Error::Conflict) => return Ok(Err(Refused::NameTaken)),
            Err(error) => return Err(error),
        }
        tell(
            &mut transaction,
            hand,
            What::ViewChanged,
            &after,
            Some(&before),
        )
        .await?;
        transaction.commit().await?;
        Ok(Ok(after))
    }

    /// Deletes a view.
    pub async fn delete_view(&self, hand: Hand, id: ViewId) -> Result<Result<(), Refused>, Error> {
        let mut transaction = self.pool.begin().await?;
        let view = match locked(&mut transaction, hand, id).await? {
            Ok(view) => view,
            Err(refused) => return Ok(Err(refused)),
        };
        sqlx::query("DELETE FROM views WHERE org_id = $1 AND id = $2")
            .bind(hand.org.uuid())
            .bind(id.uuid())
            .execute(&mut *transaction)
            .await?;
        tell(&mut transaction, hand, What::ViewDeleted, &view, None).await?;
        transaction.commit().await?;
        Ok(Ok(()))
    }
}

impl Audience {
    /// The person, as the table has it.
    fn user(self) -> Option<Uuid> {
        match self {
            Self::All => None,
            Self::Only(user) => Some(user.uuid()),
        }
    }
}

/// A view that somebody may change or delete. View and role are read under the lock that all changes take, so what the
/// trail is told is what was changed.
async fn locked(
    transaction: &mut Transaction<'_, Postgres>,
    hand: Hand,
    id: ViewId,
) -> Result<Result<View, Refused>, Error> {
    let role = locked_role(transaction, hand.org, hand.user).await?;
    let view = seen_by(&mut **transaction, hand.org, hand.user, id).await?;
    Ok(match view {
        None => Err(Refused::NotFound),
        Some(view) if may_keep(role, hand.user, view.audience) => Ok(view),
        Some(_) => Err(Refused::NotAllowed),
    })
}

async fn seen_by(
    executor: impl PgExecutor<'_>,
    org: OrgId,
    user: UserId,
    id: ViewId,
) -> Result<Option<View>, Error> {
    let row: Option<Row> = sqlx::query_as(
        "SELECT id, user_id, list, name, search, created_by, created_at, updated_at FROM views
         WHERE org_id = $1 AND id = $2 AND (user_id = $3 OR user_id IS NULL)",
    )
    .bind(org.uuid())
    .bind(id.uuid())
    .bind(user.uuid())
    .fetch_optional(executor)
    .await?;
    row.map(View::try_from).transpose()
}

/// Whether somebody of this role may save, change or delete what this audience sees.
fn may_keep(role: Option<Role>, user: UserId, audience: Audience) -> bool {
    role.is_some_and(|role| match audience {
        Audience::All => role.may_manage(),
        Audience::Only(owner) => owner == user,
    })
}

/// Tells the trail what became of a view that everybody sees; what people keep for themselves is nobody's business.
async fn tell(
    transaction: &mut Transaction<'_, Postgres>,
    hand: Hand,
    what: What,
    view: &View,
    before: Option<&View>,
) -> Result<(), Error> {
    if view.audience != Audience::All {
        return Ok(());
    }
    let mut details = json!({
        "view_id": view.id, "list": view.list, "name": view.name, "search": view.search,
    });
    if let Some(before) = before {
        details["before"] = json!({"name": before.name, "search": before.search});
    }
    note(transaction, hand, what, details).await
}

fn search_text(search: &Search) -> String {
    serde_json::to_string(search).expect("texts always encode")
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    user_id: Option<Uuid>,
    list: String,
    name: String,
    search: String,
    created_by: Uuid,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
}

impl TryFrom<Row> for View {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let id = ViewId::from_uuid(row.id);
        let inconsistent = |problem: String| Error::Inconsistent {
            what: "a view",
            problem: format!("{id}: {problem}"),
        };
        let list = List::named(&row.list)
            .ok_or_else(|| inconsistent(format!("`{}` is not a list", row.list)))?;
        let search = serde_json::from_str(&row.search);
        Ok(Self {
            id,
            list,
            name: row.name,
            search: search.map_err(|error| inconsistent(error.to_string()))?,
            audience: row.user_id.map_or(Audience::All, |user| {
                Audience::Only(UserId::from_uuid(user))
            }),
            created_by: UserId::from_uuid(row.created_by),
            created_at: from_database(row.created_at),
            updated_at: from_database(row.updated_at),
        })
    }
}
