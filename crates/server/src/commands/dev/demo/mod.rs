//! `watchbell dev --demo N`: fills the demo organization as if its agents had been at work for a day.
//!
//! Almost everything goes through the HTTP API, like anybody's: [`people`] and keys, the [`guard`], [`alerts`], and the
//! [`trail`] of what the [`cast`] did. The same number makes the same story; only its times are of now. Rules
//! are made before the last part of the trail is sent, because a rule judges what comes after it. Only the
//! [`decisions`] of the day before are made within this process: the API has no door for a decision of another time.

mod alerts;
mod cast;
mod client;
mod decisions;
mod dice;
mod guard;
mod people;
mod trail;

use std::ops::Range;

use domain::Timestamp;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::json;

use self::trail::Trail;
pub(super) use self::{
    client::Client,
    decisions::{Decider, Process},
};
use crate::commands::note;

/// What one request carries: the most that it may.
const BATCH: u32 = 1_000;
/// Requests on their way at once. More do not help: the journal groups what arrives meanwhile.
const LANES: usize = 4;
/// The most events that can be asked for. An API key may send 600 requests a minute, and this takes 500.
pub(super) const EVENTS_MAX: u32 = 500_000;
/// Events that are sent when the rules are there. A few in a hundred of them match.
const RECENT: u32 = 4_000;

/// What to fill the organization with.
pub(super) struct Filling {
    trail: Trail,
    events: u32,
    now: Timestamp,
}

impl Filling {
    pub(super) fn new(events: u32, now: Timestamp) -> Self {
        Self {
            trail: Trail::new(events, now),
            events,
            now,
        }
    }

    /// What was before anybody made a rule.
    pub(super) async fn past(&self, client: &Client, decider: &Decider) -> anyhow::Result<()> {
        people::settle(client).await?;
        guard::put_in_force(client).await?;
        self.send(client, decider, 0..self.events - self.recent())
            .await
    }

    /// Everything else, for which alerts are sent to the receiver at this URL.
    pub(super) async fn present(
        &self,
        client: &Client,
        decider: &Decider,
        receiver: &str,
    ) -> anyhow::Result<()> {
        alerts::make_rules(client, receiver).await?;
        guard::ask(client, decider, self.now).await?;
        let recent = self.events - self.recent()..self.events;
        self.send(client, decider, recent).await
    }

    fn recent(&self) -> u32 {
        RECENT.min(self.events)
    }

    /// Sends these events of the trail, oldest first within each request.
    async fn send(
        &self,
        client: &Client,
        decider: &Decider,
        events: Range<u32>,
    ) -> anyhow::Result<()> {
        let starts = events.clone().step_by(BATCH as usize);
        let batches = starts.map(|start| {
            let batch = start..(start + BATCH).min(events.end);
            async move {
                let last = batch.end;
                let mut events: Vec<_> = self.trail.events(batch).collect();
                decider.judge(&mut events).await?;
                client
                    .post("/v1/audit/events", &json!({"events": events}))
                    .await?;
                anyhow::Ok(last)
            }
        });
        stream::iter(batches)
            .buffered(LANES)
            .try_for_each(async |last| {
                if last.is_multiple_of(10 * BATCH) || last == self.events {
                    note(format_args!(
                        "watchbell dev: sent {last} of {} events",
                        self.events
                    ));
                }
                Ok(())
            })
            .await
    }
}
