//! Where deliveries stand: the log's last word wins, within a round.
//!
//! A delivery that somebody asks for again begins a round. An attempt of an earlier round may still be put on
//! record (its worker died before it could, and another sent it again); it is shown, but does not say where the
//! delivery stands. Nor does a worker that had the earlier round in hand and held or ended it meanwhile. Within a
//! round what was delivered stays delivered: a send repeated after a crash may fail, but the receiver has the first.

use std::collections::HashMap;

use domain::{DeliveryId, OrgId, Timestamp, delivery::Reason};
use sqlx::{Postgres, Transaction};
use uuid::Uuid;

use super::to_int;
use crate::{Error, times::to_database};

/// What a record says of where a delivery stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateUpdate {
    pub org: OrgId,
    pub delivery: DeliveryId,
    pub state: String,
    pub reason: Option<String>,
    pub next_at: Option<Timestamp>,
    pub by: UpdateSource,
}

/// Whose word it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateSource {
    /// An attempt's.
    Attempt { number: u32, due_at: Timestamp },
    /// Somebody asked for the delivery again: it is due from then on.
    Again { at: Timestamp },
    /// Anything else that is said of the round that began then, or of the last before that.
    Change { round_at: Timestamp },
}

/// Writes standings in their order. Of one delivery there is rarely more than one in a span, so nearly always
/// this is one statement.
pub(super) async fn update(
    transaction: &mut Transaction<'_, Postgres>,
    standings: &[StateUpdate],
) -> Result<(), Error> {
    for wave in waves(standings) {
        let is_again = |standing: &&StateUpdate| matches!(standing.by, UpdateSource::Again { .. });
        let (again, others): (Vec<_>, Vec<_>) = wave.into_iter().partition(is_again);
        begin_rounds(transaction, &again).await?;
        go_on(transaction, &others).await?;
    }
    Ok(())
}

/// The first standing of each delivery, then the second of each, and so on.
fn waves(standings: &[StateUpdate]) -> Vec<Vec<&StateUpdate>> {
    let mut seen: HashMap<DeliveryId, usize> = HashMap::new();
    let mut waves: Vec<Vec<&StateUpdate>> = Vec::new();
    for standing in standings {
        let count = seen.entry(standing.delivery).or_default();
        if waves.len() == *count {
            waves.push(Vec::new());
        }
        waves[*count].push(standing);
        *count += 1;
    }
    waves
}

/// Said again it begins no other round.
async fn begin_rounds(
    transaction: &mut Transaction<'_, Postgres>,
    standings: &[&StateUpdate],
) -> Result<(), Error> {
    let Some((first, last)) = bounds(standings) else {
        return Ok(());
    };
    let at = |standing: &&StateUpdate| match standing.by {
        UpdateSource::Again { at } => Some(to_database(at)),
        UpdateSource::Attempt { .. } | UpdateSource::Change { .. } => None,
    };
    sqlx::query(
        "UPDATE deliveries AS delivery
         SET state = word.state, reason = word.reason, next_at = word.next_at, round_at = word.at,
             round_from = delivery.attempts + 1
         FROM UNNEST($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[])
              AS word (org_id, id, state, reason, next_at, at)
         WHERE delivery.org_id = word.org_id AND delivery.id = word.id AND delivery.id BETWEEN $7 AND $8
           AND (delivery.round_at IS NULL OR delivery.round_at < word.at)",
    )
    .bind(column(standings, |standing| standing.org.uuid()))
    .bind(column(standings, |standing| standing.delivery.uuid()))
    .bind(column(standings, |standing| standing.state.as_str()))
    .bind(column(standings, |standing| standing.reason.as_deref()))
    .bind(column(standings, |standing| standing.next_at.map(to_database)))
    .bind(standings.iter().map(at).collect::<Vec<_>>())
    .bind(first)
    .bind(last)
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

/// An attempt is of the present round if it was due in it: no round has one that was due before it began
/// (`domain::delivery::schedule`). Its number does not tell: the round may have been begun while an attempt of the one before
/// was under way, which then has a number of this round's. But if that one was delivered, the receiver has it.
/// Anything else says which round it is of. An attempt made again after a crash, when a later one has been made
/// already, has the last word only if it was delivered by it. If it is the last one, what it says to be scheduled was queued by
/// the one that it repeats, and may have been held or ended since. What another worker has ended meanwhile stays ended, though
/// the attempt counts: whoever made it may have died before the next was queued, and then nobody would make that.
async fn go_on(
    transaction: &mut Transaction<'_, Postgres>,
    standings: &[&StateUpdate],
) -> Result<(), Error> {
    let Some((first, last)) = bounds(standings) else {
        return Ok(());
    };
    let word = |standing: &&StateUpdate| match standing.by {
        UpdateSource::Attempt { number, due_at } => (Some(to_int(number)), to_database(due_at)),
        UpdateSource::Again { at: round_at } | UpdateSource::Change { round_at } => {
            (None, to_database(round_at))
        }
    };
    let (numbers, times): (Vec<_>, Vec<_>) = standings.iter().map(word).unzip();
    let needs_a_person = Reason::ALL
        .into_iter()
        .filter(|reason| reason.needs_a_person());
    sqlx::query(
        "UPDATE deliveries AS delivery
         SET (state, reason, next_at) = (
                 SELECT says.state, says.reason, says.next_at
                 FROM (VALUES (true, delivery.state, delivery.reason, delivery.next_at),
                              (false, word.state, word.reason, word.next_at)) AS says (is_over, state, reason, next_at)
                 WHERE says.is_over = (word.number IS NOT NULL AND word.state = 'scheduled'
                                       AND (delivery.state IN ('canceled', 'failed')
                                            OR delivery.state = 'held' AND coalesce(delivery.reason, '') = ANY($10)))),
             attempts = GREATEST(delivery.attempts, word.number)
         FROM UNNEST($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::int[],
                     $7::timestamptz[])
              AS word (org_id, id, state, reason, next_at, number, at)
         WHERE delivery.org_id = word.org_id AND delivery.id = word.id AND delivery.id BETWEEN $8 AND $9
           AND delivery.state <> 'delivered'
           AND (word.at >= coalesce(delivery.round_at, '-infinity')
                OR (word.number >= delivery.round_from AND word.state = 'delivered'))
           AND (word.number IS NULL OR word.number > delivery.attempts OR word.state = 'delivered'
                OR (word.number = delivery.attempts
                    AND (word.state <> 'scheduled' OR delivery.state IN ('pending', 'scheduled'))))",
    )
    .bind(column(standings, |standing| standing.org.uuid()))
    .bind(column(standings, |standing| standing.delivery.uuid()))
    .bind(column(standings, |standing| standing.state.as_str()))
    .bind(column(standings, |standing| standing.reason.as_deref()))
    .bind(column(standings, |standing| standing.next_at.map(to_database)))
    .bind(numbers)
    .bind(times)
    .bind(first)
    .bind(last)
    .bind(needs_a_person.map(Reason::as_str).collect::<Vec<_>>())
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

/// The lowest and the highest id, which let PostgreSQL leave out all other days.
fn bounds(standings: &[&StateUpdate]) -> Option<(Uuid, Uuid)> {
    let ids = || standings.iter().map(|standing| standing.delivery.uuid());
    ids().min().zip(ids().max())
}

fn column<'s, T>(standings: &[&'s StateUpdate], value: impl Fn(&'s StateUpdate) -> T) -> Vec<T> {
    standings.iter().map(|standing| value(standing)).collect()
}
