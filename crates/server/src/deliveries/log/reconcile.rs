//! Watches over all deliveries: whether they add up, and whether any should have been sent by now.
//!
//! One process at a time does this, whichever is first. It looks at the hour that is now, the one before, and one
//! of the past in turn, so that every hour that is kept is looked at again and again. It never takes more than a
//! small share of the database's time: the longer a look took, the longer the next one waits.

use std::{collections::BTreeMap, time::Duration};

use domain::{Timestamp, clock::Clock, delivery::endpoint::Gate};
use metrics::gauge;
use runtime::retry::Retries;
use store::{
    Store,
    deliveries::{
        balance::{HOUR, Reconciling},
        overdue::Overdue,
    },
    rule_counts::start_of_hour,
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::telemetry::metrics as names;

/// How often it is looked, at the least.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// A pause is so many times as long as the look before it.
const REST: u32 = 10;
/// How long a delivery may be due before somebody should know.
const OVERDUE_AFTER: Duration = Duration::from_mins(10);
/// Rules that are told of in one look; more say the same.
const TOLD_MAX: u32 = 20;
/// Endpoints whose overdue deliveries are looked at, the longest overdue first.
const ENDPOINTS_MAX: usize = 200;

/// What reconciling takes.
pub struct Reconciler {
    pub store: Store,
    pub clock: Clock,
    /// How long deliveries are kept.
    pub kept: Duration,
}

/// What earlier looks found.
#[derive(Default)]
struct Found {
    /// Rules that did not add up, by hour.
    unbalanced: BTreeMap<Timestamp, usize>,
    /// How far back the next hour of the past is.
    hours_back: u32,
}

impl Reconciler {
    /// Watches until stopped, or waits for its turn.
    pub async fn run(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let mut retries = Retries::new("reconcile deliveries", &stopping);
        while retries.again(self.watch(&stopping).await).await {
            tokio::select! {
                () = sleep(LOOK_EVERY) => {}
                () = stopping.cancelled() => {}
            }
        }
        Ok(())
    }

    /// Looks as long as the turn is ours. Returns if it is another's.
    async fn watch(&self, stopping: &CancellationToken) -> Result<(), store::Error> {
        let Some(mut turn) = self.store.reconciling().await? else {
            return Ok(());
        };
        let mut found = Found::default();
        let outcome = loop {
            let started = Instant::now();
            if let Err(error) = self.look(&mut turn, &mut found).await {
                break Err(error);
            }
            tokio::select! {
                () = sleep(LOOK_EVERY.max(started.elapsed() * REST)) => {}
                () = stopping.cancelled() => break Ok(()),
            }
        };
        // Whoever is next counts; two that say the same would be added up.
        for state in ["pending", "scheduled", "held"] {
            gauge!(names::DELIVERIES, "state" => state).set(0.0);
        }
        gauge!(names::DELIVERIES_UNBALANCED).set(0.0);
        gauge!(names::DELIVERY_OLDEST_DUE_SECONDS).set(0.0);
        outcome
    }

    async fn look(&self, turn: &mut Reconciling, found: &mut Found) -> Result<(), store::Error> {
        for (state, count) in turn.under_way().await? {
            #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
            gauge!(names::DELIVERIES, "state" => state).set(count as f64);
        }
        self.add_up(turn, found).await?;
        self.look_for_overdue(turn).await
    }

    async fn add_up(&self, turn: &mut Reconciling, found: &mut Found) -> Result<(), store::Error> {
        let now = start_of_hour(self.clock.now());
        let hours_kept = u32::try_from(self.kept.as_secs() / HOUR.as_secs()).unwrap_or(u32::MAX);
        found.hours_back = if found.hours_back + 1 < hours_kept {
            found.hours_back + 1
        } else {
            2
        };
        let mut hours = vec![now, now.minus(HOUR)];
        if found.hours_back >= 2 {
            hours.push(now.minus(HOUR * found.hours_back));
        }
        for hour in hours {
            let unbalanced = turn.unbalanced(hour, TOLD_MAX).await?;
            let was = found.unbalanced.insert(hour, unbalanced.len()).unwrap_or(0);
            // Told once, and again if it gets worse.
            if unbalanced.len() > was {
                for one in &unbalanced {
                    tracing::error!(
                        org.id = %one.org, rule.id = %one.rule, hour = %hour, decided = one.decided,
                        found = one.found, "deliveries do not add up to what the matcher decided"
                    );
                }
            }
        }
        found
            .unbalanced
            .retain(|hour, rules| *rules > 0 && now.since(*hour) < self.kept);
        let rules: usize = found.unbalanced.values().sum();
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
        gauge!(names::DELIVERIES_UNBALANCED).set(rules as f64);
        Ok(())
    }

    /// What waits for an endpoint that may not be sent to is not late.
    async fn look_for_overdue(&self, turn: &mut Reconciling) -> Result<(), store::Error> {
        let now = self.clock.now();
        let mut oldest: Option<Overdue> = None;
        for overdue in turn.overdue(now).await?.into_iter().take(ENDPOINTS_MAX) {
            let row = self.store.endpoint(overdue.org, overdue.endpoint).await?;
            let may_be_sent_to = row.is_none_or(|row| {
                row.endpoint.gate(now) == Gate::Open && now.since(row.noticed_at) > OVERDUE_AFTER
            });
            if may_be_sent_to {
                // They come with the longest overdue first.
                oldest = Some(overdue);
                break;
            }
        }
        let late = oldest
            .as_ref()
            .map_or(Duration::ZERO, |oldest| now.since(oldest.due_at));
        gauge!(names::DELIVERY_OLDEST_DUE_SECONDS).set(late.as_secs_f64());
        if let Some(oldest) = oldest.filter(|_| late > OVERDUE_AFTER) {
            tracing::error!(
                org.id = %oldest.org, delivery.id = %oldest.example, endpoint.id = %oldest.endpoint,
                due_at = %oldest.due_at, deliveries = oldest.deliveries,
                "deliveries are overdue although nothing holds back their endpoint"
            );
        }
        Ok(())
    }
}
