//! Inserts deliveries and attempts, many in one statement.

use std::collections::HashSet;

use domain::{DeliveryId, Timestamp};
use sqlx::{Postgres, Transaction};
use uuid::Uuid;

use super::{Attempt, Delivery, to_int};
use crate::{Error, times::to_database};

/// Writes those that are not there yet; returns those that are. One that is neither is lost, and is not among them.
pub(super) async fn deliveries(
    transaction: &mut Transaction<'_, Postgres>,
    deliveries: &[Delivery],
) -> Result<HashSet<DeliveryId>, Error> {
    if deliveries.is_empty() {
        return Ok(HashSet::new());
    }
    let made: HashSet<Uuid> = insert(transaction, deliveries).await?.into_iter().collect();
    let not_made = |delivery: &&Delivery| !made.contains(&delivery.id.uuid());
    let rest: Vec<&Delivery> = deliveries.iter().filter(not_made).collect();
    there(transaction, &rest).await
}

/// Those of these that are there.
async fn there(
    transaction: &mut Transaction<'_, Postgres>,
    deliveries: &[&Delivery],
) -> Result<HashSet<DeliveryId>, Error> {
    let ids = || deliveries.iter().map(|delivery| delivery.id.uuid());
    // The lowest and the highest let PostgreSQL leave out all other days.
    let Some((first, last)) = ids().min().zip(ids().max()) else {
        return Ok(HashSet::new());
    };
    let orgs = deliveries.iter().map(|delivery| delivery.org.uuid());
    let found: Vec<Uuid> = sqlx::query_scalar(
        "SELECT delivery.id FROM deliveries AS delivery
         JOIN UNNEST($1::uuid[], $2::uuid[]) AS wanted (org_id, id)
           ON delivery.org_id = wanted.org_id AND delivery.id = wanted.id
         WHERE delivery.id BETWEEN $3 AND $4",
    )
    .bind(orgs.collect::<Vec<_>>())
    .bind(ids().collect::<Vec<_>>())
    .bind(first)
    .bind(last)
    .fetch_all(&mut **transaction)
    .await?;
    Ok(found.into_iter().map(DeliveryId::from_uuid).collect())
}

/// Matched again (the matcher crashed before it settled) is not matched anew. Returns those that it wrote.
async fn insert(
    transaction: &mut Transaction<'_, Postgres>,
    deliveries: &[Delivery],
) -> Result<Vec<Uuid>, Error> {
    let column = |value: fn(&Delivery) -> Uuid| deliveries.iter().map(value).collect::<Vec<_>>();
    let texts = |value: fn(&Delivery) -> &str| deliveries.iter().map(value).collect::<Vec<&str>>();
    let made = sqlx::query_scalar(
        "INSERT INTO deliveries (org_id, id, event_id, rule_id, rule_name, event_type, url, state,
                                 attempts, matched_at, cause, suppressed)
         SELECT org_id, id, event_id, rule_id, rule_name, event_type, url, state, 0, matched_at, cause,
                suppressed
         FROM UNNEST($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[],
                     $8::text[], $9::timestamptz[], $10::text[], $11::int[])
              AS row (org_id, id, event_id, rule_id, rule_name, event_type, url, state, matched_at, cause,
                      suppressed)
         ON CONFLICT DO NOTHING RETURNING id",
    )
    .bind(column(|delivery| delivery.org.uuid()))
    .bind(column(|delivery| delivery.id.uuid()))
    .bind(column(|delivery| delivery.event.uuid()))
    .bind(column(|delivery| delivery.rule.uuid()))
    .bind(texts(|delivery| &delivery.rule_name))
    .bind(texts(|delivery| &delivery.event_type))
    .bind(texts(|delivery| &delivery.url))
    .bind(texts(|delivery| &delivery.state))
    .bind(deliveries.iter().map(|delivery| to_database(delivery.matched_at)).collect::<Vec<_>>())
    .bind(texts(|delivery| &delivery.cause))
    .bind(deliveries.iter().map(|delivery| to_int(delivery.suppressed)).collect::<Vec<_>>())
    .fetch_all(&mut **transaction)
    .await?;
    Ok(made)
}

/// Writes those that are not there yet; returns their ids.
pub(super) async fn attempts(
    transaction: &mut Transaction<'_, Postgres>,
    attempts: &[Attempt],
) -> Result<HashSet<Uuid>, Error> {
    if attempts.is_empty() {
        return Ok(HashSet::new());
    }
    let uuids = |value: fn(&Attempt) -> Uuid| attempts.iter().map(value).collect::<Vec<_>>();
    let texts = |value: fn(&Attempt) -> &str| attempts.iter().map(value).collect::<Vec<&str>>();
    let maybe = |value: fn(&Attempt) -> &Option<String>| {
        let text = |attempt| value(attempt).as_deref();
        attempts.iter().map(text).collect::<Vec<Option<&str>>>()
    };
    let numbers = |value: fn(&Attempt) -> u32| {
        let number = |attempt| to_int(value(attempt));
        attempts.iter().map(number).collect::<Vec<_>>()
    };
    let maybe_numbers = |value: fn(&Attempt) -> Option<u32>| {
        let number = |attempt| value(attempt).map(to_int);
        attempts.iter().map(number).collect::<Vec<_>>()
    };
    let times = |value: fn(&Attempt) -> Timestamp| {
        let time = |attempt| to_database(value(attempt));
        attempts.iter().map(time).collect::<Vec<_>>()
    };
    let secrets = attempts
        .iter()
        .map(|attempt| serde_json::to_string(&attempt.secrets).expect("texts always encode"));
    let answer_headers = attempts.iter().map(|attempt| {
        serde_json::to_string(&attempt.answer_headers).expect("pairs of texts always encode")
    });
    let next_at = attempts
        .iter()
        .map(|attempt| attempt.next_at.map(to_database));
    let salts = attempts
        .iter()
        .map(|attempt| attempt.salt.map(|salt| salt.0.to_vec()));
    let new: Vec<Uuid> = sqlx::query_scalar(
        "INSERT INTO delivery_attempts (org_id, delivery_id, id, number, trigger, due_at, started_at,
             finished_at, signed_at, url, remote_address, body_sha256, body_bytes, status, outcome, error,
             answer, resolved_us, connected_us, secured_us, sent_us, answered_us, tls, secrets,
             answer_headers, clock_skew_s, retry_after_s, state, reason, next_at, salt)
         SELECT org_id, delivery_id, id, number, trigger, due_at, started_at,
             finished_at, signed_at, url, remote_address, body_sha256, body_bytes, status, outcome, error,
             answer, resolved_us, connected_us, secured_us, sent_us, answered_us, tls, secrets,
             answer_headers, clock_skew_s, retry_after_s, state, reason, next_at, salt
         FROM UNNEST($1::uuid[], $2::uuid[], $3::uuid[], $4::int[], $5::text[], $6::timestamptz[],
             $7::timestamptz[], $8::timestamptz[], $9::timestamptz[], $10::text[], $11::text[], $12::text[],
             $13::int[], $14::int[], $15::text[], $16::text[], $17::text[], $18::int[], $19::int[], $20::int[],
             $21::int[], $22::int[], $23::text[], $24::text[], $25::text[], $26::int[], $27::int[],
             $28::text[], $29::text[], $30::timestamptz[], $31::bytea[])
             AS row (org_id, delivery_id, id, number, trigger, due_at, started_at,
             finished_at, signed_at, url, remote_address, body_sha256, body_bytes, status, outcome, error,
             answer, resolved_us, connected_us, secured_us, sent_us, answered_us, tls, secrets,
             answer_headers, clock_skew_s, retry_after_s, state, reason, next_at, salt)
         ON CONFLICT DO NOTHING RETURNING id",
    )
    .bind(uuids(|attempt| attempt.org.uuid()))
    .bind(uuids(|attempt| attempt.delivery.uuid()))
    .bind(uuids(|attempt| attempt.id.uuid()))
    .bind(numbers(|attempt| attempt.number))
    .bind(texts(|attempt| &attempt.trigger))
    .bind(times(|attempt| attempt.due_at))
    .bind(times(|attempt| attempt.started_at))
    .bind(times(|attempt| attempt.finished_at))
    .bind(times(|attempt| attempt.signed_at))
    .bind(texts(|attempt| &attempt.url))
    .bind(maybe(|attempt| &attempt.remote_address))
    .bind(texts(|attempt| &attempt.body_sha256))
    .bind(numbers(|attempt| attempt.body_bytes))
    .bind(maybe_numbers(|attempt| attempt.status.map(u32::from)))
    .bind(texts(|attempt| &attempt.outcome))
    .bind(maybe(|attempt| &attempt.error))
    .bind(texts(|attempt| &attempt.answer))
    .bind(maybe_numbers(|attempt| attempt.phases.resolved_us))
    .bind(maybe_numbers(|attempt| attempt.phases.connected_us))
    .bind(maybe_numbers(|attempt| attempt.phases.secured_us))
    .bind(maybe_numbers(|attempt| attempt.phases.sent_us))
    .bind(maybe_numbers(|attempt| attempt.phases.answered_us))
    .bind(maybe(|attempt| &attempt.tls))
    .bind(secrets.collect::<Vec<_>>())
    .bind(answer_headers.collect::<Vec<_>>())
    .bind(attempts.iter().map(|attempt| attempt.clock_skew_s).collect::<Vec<_>>())
    .bind(maybe_numbers(|attempt| attempt.retry_after_s))
    .bind(maybe(|attempt| &attempt.state))
    .bind(maybe(|attempt| &attempt.reason))
    .bind(next_at.collect::<Vec<_>>())
    .bind(salts.collect::<Vec<_>>())
    .fetch_all(&mut **transaction)
    .await?;
    Ok(new.into_iter().collect())
}
