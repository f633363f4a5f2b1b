//! What of a span is new and so is counted: a span may say again what was said before.
//!
//! The log is applied from its beginning again after the journal was put back to an earlier state, and a stream that was
//! lost is filled anew. A match that made a delivery is recognized by it. One that only counts toward a threshold has no
//! row to be recognized by: of those the ones up to a time are known to be counted ([`watermark::count_up_to`]).

use std::collections::HashSet;

use domain::DeliveryId;
use sqlx::{Postgres, Transaction};

use super::{Outcomes, balance::Decided};
use crate::{Error, rule_counts::RuleMatch, watermark, writer::Purpose};

/// Decisions whose deliveries were not there, each once.
pub(super) fn decided(outcomes: &Outcomes, known: &HashSet<DeliveryId>) -> Vec<Decided> {
    let mut seen = HashSet::new();
    let is_new = |one: &&Decided| !known.contains(&one.delivery) && seen.insert(one.delivery);
    outcomes.decided.iter().filter(is_new).copied().collect()
}

/// Matches whose deliveries were not there, each once, and those without one that were not counted.
pub(super) async fn matches(
    transaction: &mut Transaction<'_, Postgres>,
    purpose: Purpose<'_>,
    outcomes: &Outcomes,
    known: &HashSet<DeliveryId>,
) -> Result<Vec<RuleMatch>, Error> {
    let counting = outcomes.matches.iter().filter(|one| one.delivery.is_none());
    let latest = counting.map(|one| one.at).max();
    let counted_before = match (purpose, latest) {
        (Purpose::Apply(source, _), Some(latest)) => {
            watermark::count_up_to(transaction, source, latest).await?
        }
        // A letter is applied once.
        _ => None,
    };
    let mut seen = HashSet::new();
    let is_new = |one: &&RuleMatch| match one.delivery {
        Some(delivery) => !known.contains(&delivery) && seen.insert(delivery),
        None => counted_before.is_none_or(|before| one.at > before),
    };
    Ok(outcomes.matches.iter().filter(is_new).copied().collect())
}
