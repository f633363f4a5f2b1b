//! Where people are logged in.

use domain::{
    OrgId, SessionId, Timestamp, UserId,
    account::{
        Role, TokenHash,
        security_log::What,
        session_lifetime::{AGE_MAX, IDLE_MAX, SEEN_EVERY, SESSIONS_MAX},
    },
};
use serde_json::json;
use sqlx::{FromRow, PgConnection, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    account_outbox::{Hand, note},
    times::{from_database, to_database},
};

/// A session that was found by its token: who is asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    pub session: SessionId,
    pub org: OrgId,
    pub user: UserId,
    pub role: Role,
    /// Ask [`Store::session_seen`] to move it when it is older than [`SEEN_EVERY`].
    pub last_seen_at: Timestamp,
}

/// A session to be made.
pub struct NewSession {
    pub session: SessionId,
    pub org: OrgId,
    pub user: UserId,
    pub token_hash: TokenHash,
    /// The hash that the password was checked against.
    pub password_hash: String,
    pub created_at: Timestamp,
    pub user_agent: Option<String>,
    pub client_address: Option<String>,
}

/// A session as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSession {
    pub session: SessionId,
    pub created_at: Timestamp,
    pub last_seen_at: Timestamp,
    pub expires_at: Timestamp,
    pub user_agent: Option<String>,
    pub client_address: Option<String>,
}

#[derive(FromRow)]
struct Found {
    id: Uuid,
    org_id: Uuid,
    user_id: Uuid,
    role: String,
    last_seen_at: OffsetDateTime,
}

#[derive(FromRow)]
struct Listed {
    id: Uuid,
    created_at: OffsetDateTime,
    last_seen_at: OffsetDateTime,
    expires_at: OffsetDateTime,
    user_agent: Option<String>,
    client_address: Option<String>,
}

impl Store {
    /// The session with this token, unless it has ended. The one query that starts from a secret
    /// and not from an organization: it is what tells the organization.
    pub async fn session(
        &self,
        token_hash: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<SessionRow>, Error> {
        let found: Option<Found> = sqlx::query_as(
            "SELECT s.id, s.org_id, s.user_id, u.role, s.last_seen_at
             FROM sessions s JOIN users u ON u.org_id = s.org_id AND u.id = s.user_id
             WHERE s.token_hash = $1 AND s.expires_at > $2 AND s.last_seen_at > $3",
        )
        .bind(token_hash.as_str())
        .bind(to_database(now))
        .bind(to_database(now.minus(IDLE_MAX)))
        .fetch_optional(&self.pool)
        .await?;
        found
            .map(|found| {
                Ok(SessionRow {
                    session: SessionId::from_uuid(found.id),
                    org: OrgId::from_uuid(found.org_id),
                    user: UserId::from_uuid(found.user_id),
                    role: role(&found.role)?,
                    last_seen_at: from_database(found.last_seen_at),
                })
            })
            .transpose()
    }

    /// Notes that a session was used, unless that was noted within [`SEEN_EVERY`].
    pub async fn session_seen(
        &self,
        org: OrgId,
        session: SessionId,
        now: Timestamp,
    ) -> Result<(), Error> {
        sqlx::query(
            "UPDATE sessions SET last_seen_at = $3 WHERE org_id = $1 AND id = $2 AND last_seen_at <= $4",
        )
        .bind(org.uuid())
        .bind(session.uuid())
        .bind(to_database(now))
        .bind(to_database(now.minus(SEEN_EVERY)))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Makes a session; beyond [`SESSIONS_MAX`] the oldest of the person go. `false` if the password
    /// was changed since it was checked: the row's lock makes a login and a reset follow each other,
    /// so that no session outlives the password that opened it.
    pub async fn create_session(&self, new: &NewSession) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        let made = sqlx::query(
            "INSERT INTO sessions (org_id, user_id, id, token_hash, created_at, last_seen_at,
                                   expires_at, user_agent, client_address)
             SELECT org_id, id, $3, $4, $5, $5, $6, $7, $8 FROM users
             WHERE org_id = $1 AND id = $2 AND password_hash = $9 FOR SHARE",
        )
        .bind(new.org.uuid())
        .bind(new.user.uuid())
        .bind(new.session.uuid())
        .bind(new.token_hash.as_str())
        .bind(to_database(new.created_at))
        .bind(to_database(new.created_at.plus(AGE_MAX)))
        .bind(&new.user_agent)
        .bind(&new.client_address)
        .bind(&new.password_hash)
        .execute(&mut *transaction)
        .await?;
        if made.rows_affected() == 0 {
            return Ok(false);
        }
        sqlx::query(
            "DELETE FROM sessions WHERE org_id = $1 AND user_id = $2 AND id IN (
                 SELECT id FROM sessions WHERE org_id = $1 AND user_id = $2
                 ORDER BY id DESC OFFSET $3)",
        )
        .bind(new.org.uuid())
        .bind(new.user.uuid())
        .bind(i64::from(SESSIONS_MAX))
        .execute(&mut *transaction)
        .await?;
        let hand = Hand {
            org: new.org,
            user: new.user,
            at: new.created_at,
        };
        let details = json!({
            "session_id": new.session, "client_address": new.client_address, "user_agent": new.user_agent,
        });
        note(&mut transaction, hand, What::LoggedIn, details).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// A person's sessions that have not ended, newest first; at most [`SESSIONS_MAX`].
    pub async fn list_sessions(
        &self,
        org: OrgId,
        user: UserId,
        now: Timestamp,
    ) -> Result<Vec<ListedSession>, Error> {
        let rows: Vec<Listed> = sqlx::query_as(
            "SELECT id, created_at, last_seen_at, expires_at, user_agent, client_address
             FROM sessions
             WHERE org_id = $1 AND user_id = $2 AND expires_at > $3 AND last_seen_at > $4
             ORDER BY id DESC LIMIT $5",
        )
        .bind(org.uuid())
        .bind(user.uuid())
        .bind(to_database(now))
        .bind(to_database(now.minus(IDLE_MAX)))
        .bind(i64::from(SESSIONS_MAX))
        .fetch_all(&self.pool)
        .await?;
        let listed = |row: Listed| ListedSession {
            session: SessionId::from_uuid(row.id),
            created_at: from_database(row.created_at),
            last_seen_at: from_database(row.last_seen_at),
            expires_at: from_database(row.expires_at),
            user_agent: row.user_agent,
            client_address: row.client_address,
        };
        Ok(rows.into_iter().map(listed).collect())
    }

    /// Ends one session of a person; `false` if they have no such session.
    pub async fn end_session(&self, hand: Hand, session: SessionId) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        let done =
            sqlx::query("DELETE FROM sessions WHERE org_id = $1 AND user_id = $2 AND id = $3")
                .bind(hand.org.uuid())
                .bind(hand.user.uuid())
                .bind(session.uuid())
                .execute(&mut *transaction)
                .await?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        note_end(&mut transaction, hand, session).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Ends the session with this token, and says whose organization it was of; nothing happens if there is none.
    pub async fn end_session_by_token(
        &self,
        token_hash: &TokenHash,
        at: Timestamp,
    ) -> Result<Option<OrgId>, Error> {
        let mut transaction = self.pool.begin().await?;
        let ended: Option<(Uuid, Uuid, Uuid)> = sqlx::query_as(
            "DELETE FROM sessions WHERE token_hash = $1 RETURNING org_id, user_id, id",
        )
        .bind(token_hash.as_str())
        .fetch_optional(&mut *transaction)
        .await?;
        let Some((org, user, session)) = ended else {
            return Ok(None);
        };
        let (org, user) = (OrgId::from_uuid(org), UserId::from_uuid(user));
        let hand = Hand { org, user, at };
        note_end(&mut transaction, hand, SessionId::from_uuid(session)).await?;
        transaction.commit().await?;
        Ok(Some(org))
    }
}

async fn note_end(
    transaction: &mut PgConnection,
    hand: Hand,
    session: SessionId,
) -> Result<(), Error> {
    let details = json!({ "session_id": session });
    note(transaction, hand, What::SessionEnded, details).await
}

/// A role as the database keeps it.
pub(crate) fn role(text: &str) -> Result<Role, Error> {
    text.parse().map_err(|error| Error::Inconsistent {
        what: "a person's role",
        problem: format!("{error}"),
    })
}
