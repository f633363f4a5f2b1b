//! Endpoints that are or were in trouble, as of their last notice, and the notices.

use std::time::Duration;

use domain::{
    EndpointId, OrgId, Timestamp,
    delivery::endpoint::{Endpoint, Status},
};
use sqlx::{FromRow, PgConnection, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    page::Page,
    times::{from_database, to_database},
};

/// Notices of one endpoint that are shown, newest first.
const NOTICES_SHOWN: i64 = 50;

/// A notice, and the endpoint as it is since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointNotice {
    pub endpoint: Endpoint,
    /// What it is called.
    pub notice: String,
    pub error: Option<String>,
    pub at: Timestamp,
    /// Whether people are mailed.
    pub is_mailed: bool,
}

/// An endpoint as of its last notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointRow {
    pub endpoint: Endpoint,
    pub error: Option<String>,
    pub noticed_at: Timestamp,
}

/// A notice as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeRow {
    pub notice: String,
    pub error: Option<String>,
    pub at: Timestamp,
    pub mailed_at: Option<Timestamp>,
}

/// A notice that people are mailed of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeToMail {
    pub org: OrgId,
    pub endpoint: EndpointId,
    pub url: String,
    pub notice: String,
    pub error: Option<String>,
    pub at: Timestamp,
}

#[derive(FromRow)]
struct Row {
    endpoint: String,
    error: Option<String>,
    noticed_at: OffsetDateTime,
}

impl Store {
    pub async fn endpoint(&self, org: OrgId, id: EndpointId) -> Result<Option<EndpointRow>, Error> {
        let row: Option<Row> = sqlx::query_as(
            "SELECT endpoint, error, noticed_at FROM endpoints WHERE org_id = $1 AND id = $2",
        )
        .bind(org.uuid())
        .bind(id.uuid())
        .fetch_optional(&self.pool)
        .await?;
        row.map(EndpointRow::try_from).transpose()
    }

    /// An organization's endpoints that are or were in trouble, from below `before` on.
    pub async fn list_endpoints(
        &self,
        org: OrgId,
        before: Option<EndpointId>,
        limit: u32,
    ) -> Result<Page<EndpointRow, EndpointId>, Error> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT endpoint, error, noticed_at FROM endpoints
             WHERE org_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        )
        .bind(org.uuid())
        .bind(before.map_or(Uuid::max(), EndpointId::uuid))
        .bind(i64::from(limit) + 1)
        .fetch_all(&self.pool)
        .await?;
        let rows = rows.into_iter().map(EndpointRow::try_from);
        let rows = rows.collect::<Result<_, _>>()?;
        Ok(Page::from_rows(rows, limit, |row: &EndpointRow| {
            row.endpoint.id
        }))
    }

    /// The newest notices of an endpoint, newest first.
    pub async fn endpoint_notices(
        &self,
        org: OrgId,
        id: EndpointId,
    ) -> Result<Vec<NoticeRow>, Error> {
        type NoticeDbRow = (
            String,
            Option<String>,
            OffsetDateTime,
            Option<OffsetDateTime>,
        );
        let rows: Vec<NoticeDbRow> = sqlx::query_as(
            "SELECT notice, error, at, mailed_at FROM endpoint_notices
             WHERE org_id = $1 AND endpoint_id = $2 ORDER BY at DESC, notice LIMIT $3",
        )
        .bind(org.uuid())
        .bind(id.uuid())
        .bind(NOTICES_SHOWN)
        .fetch_all(&self.pool)
        .await?;
        let notice = |(notice, error, at, mailed_at): NoticeDbRow| NoticeRow {
            notice,
            error,
            at: from_database(at),
            mailed_at: mailed_at.map(from_database),
        };
        Ok(rows.into_iter().map(notice).collect())
    }

    /// The URLs that an organization's rules name, each once.
    pub async fn rule_urls(&self, org: OrgId) -> Result<Vec<String>, Error> {
        Ok(sqlx::query_scalar(
            "SELECT DISTINCT definition::json ->> 'url' FROM alert_rules WHERE org_id = $1",
        )
        .bind(org.uuid())
        .fetch_all(&self.pool)
        .await?)
    }

    /// Takes notices that people are to be mailed of; nobody takes them again. Of those that came while an
    /// organization had `per_org_max` mails within the last `window`, and of those that waited for longer than
    /// that, none is taken.
    pub async fn take_notices_to_mail(
        &self,
        now: Timestamp,
        window: Duration,
        per_org_max: u32,
        limit: u32,
    ) -> Result<Vec<NoticeToMail>, Error> {
        type NoticeDbRow = (
            Uuid,
            Uuid,
            String,
            Option<String>,
            OffsetDateTime,
            String,
            String,
        );
        let rows: Vec<NoticeDbRow> = sqlx::query_as(
            "WITH waiting AS (
                 SELECT org_id, endpoint_id, at, notice FROM endpoint_notices
                 WHERE mail = 'waiting' ORDER BY at LIMIT $4 FOR UPDATE SKIP LOCKED),
             ranked AS (
                 SELECT org_id, endpoint_id, at, notice,
                        row_number() OVER (PARTITION BY org_id ORDER BY at)
                        + (SELECT count(*) FROM endpoint_notices AS sent
                           WHERE sent.org_id = waiting.org_id AND sent.mail = 'sent' AND sent.mailed_at > $2)
                        AS number
                 FROM waiting),
             taken AS (
                 UPDATE endpoint_notices AS notice
                 SET mail = CASE WHEN number <= $3 AND notice.at > $2 THEN 'sent' ELSE 'dropped' END,
                     mailed_at = CASE WHEN number <= $3 AND notice.at > $2 THEN $1 END
                 FROM ranked
                 WHERE notice.org_id = ranked.org_id AND notice.endpoint_id = ranked.endpoint_id
                   AND notice.at = ranked.at AND notice.notice = ranked.notice
                 RETURNING notice.org_id, notice.endpoint_id, notice.notice, notice.error, notice.at, notice.mail)
             SELECT taken.org_id, endpoint_id, notice, taken.error, at, mail, url
             FROM taken JOIN endpoints ON endpoints.org_id = taken.org_id AND endpoints.id = endpoint_id
             WHERE mail = 'sent' ORDER BY at",
        )
        .bind(to_database(now))
        .bind(to_database(now.minus(window)))
        .bind(i64::from(per_org_max))
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        let notice = |(org, endpoint, notice, error, at, _, url): NoticeDbRow| NoticeToMail {
            org: OrgId::from_uuid(org),
            endpoint: EndpointId::from_uuid(endpoint),
            url,
            notice,
            error,
            at: from_database(at),
        };
        Ok(rows.into_iter().map(notice).collect())
    }

    /// Forgets notices from before then, and endpoints that have been well since.
    pub async fn forget_endpoints(&self, before: Timestamp) -> Result<(), Error> {
        self.forget_in_slices(
            "DELETE FROM endpoint_notices WHERE ctid = ANY (ARRAY (
                 SELECT ctid FROM endpoint_notices WHERE at < $1 LIMIT $2))",
            before,
        )
        .await?;
        self.forget_in_slices(
            "DELETE FROM endpoints WHERE ctid = ANY (ARRAY (
                 SELECT ctid FROM endpoints WHERE status = 'active' AND noticed_at < $1 LIMIT $2))",
            before,
        )
        .await?;
        Ok(())
    }
}

/// Endpoints of all organizations, by organization and id, after this one.
pub(crate) async fn endpoints_after(
    connection: &mut PgConnection,
    org: Uuid,
    id: Uuid,
    limit: i64,
) -> Result<Vec<Endpoint>, Error> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT endpoint, error, noticed_at FROM endpoints
         WHERE (org_id, id) > ($1, $2) ORDER BY org_id, id LIMIT $3",
    )
    .bind(org)
    .bind(id)
    .bind(limit)
    .fetch_all(connection)
    .await?;
    let endpoint = |row| EndpointRow::try_from(row).map(|row| row.endpoint);
    rows.into_iter().map(endpoint).collect()
}

impl TryFrom<Row> for EndpointRow {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let endpoint =
            serde_json::from_str(&row.endpoint).map_err(|error| Error::Inconsistent {
                what: "an endpoint",
                problem: error.to_string(),
            })?;
        Ok(Self {
            endpoint,
            error: row.error,
            noticed_at: from_database(row.noticed_at),
        })
    }
}

/// Writes notices. There are few: endpoints in trouble are, and each is told of a few times.
pub(crate) async fn note(
    connection: &mut PgConnection,
    notices: &[EndpointNotice],
) -> Result<(), Error> {
    for notice in notices {
        let endpoint = &notice.endpoint;
        let status = match endpoint.status {
            Status::Active => "active",
            Status::Paused { .. } => "paused",
            Status::Disabled { .. } => "disabled",
        };
        let json = serde_json::to_string(endpoint).expect("an endpoint always encodes");
        // Two workers may tell of it in another order than it happened in.
        sqlx::query(
            "INSERT INTO endpoints (org_id, id, url, status, endpoint, error, noticed_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (org_id, id) DO UPDATE
             SET status = EXCLUDED.status, endpoint = EXCLUDED.endpoint, noticed_at = EXCLUDED.noticed_at,
                 error = coalesce(EXCLUDED.error, endpoints.error)
             WHERE endpoints.noticed_at <= EXCLUDED.noticed_at",
        )
        .bind(endpoint.org_id.uuid())
        .bind(endpoint.id.uuid())
        .bind(&endpoint.url)
        .bind(status)
        .bind(json)
        .bind(&notice.error)
        .bind(to_database(notice.at))
        .execute(&mut *connection)
        .await?;
        sqlx::query(
            "INSERT INTO endpoint_notices (org_id, endpoint_id, at, notice, error, mail)
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        )
        .bind(endpoint.org_id.uuid())
        .bind(endpoint.id.uuid())
        .bind(to_database(notice.at))
        .bind(&notice.notice)
        .bind(&notice.error)
        .bind(if notice.is_mailed { "waiting" } else { "none" })
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}
