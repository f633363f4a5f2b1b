//! Turns events into deliveries: one task per partition.
//!
//! For each message of events: wait until the rules are current, judge, put on record what matched,
//! queue it for sending, settle. A crash anywhere repeats the message, and ids derived from event
//! and rule make the repetition harmless.
//!
//! An event that the client sent again is in the log twice. Each delivery of an event that may come
//! twice is marked with the message it is of ([`journal::once`]): found in another message later, the
//! event sets off nothing.

use std::{mem, sync::Arc};

use domain::{DeliveryId, clock::Clock, delivery::Cause, event::EventView, partition::Partition};
use journal::{
    Journal,
    once::AlertMark,
    record::{self, EventRecord, Job, Matched, OutcomeRecord},
    streams::Log,
    work::Task,
};
use tokio_util::sync::CancellationToken;

use crate::{
    planes::Appenders,
    retry::Retries,
    snapshots::Rules,
    telemetry::{self, metrics as names},
};

/// How many deliveries are passed on together: an event message can match many rules a thousand times,
/// and each delivery carries its event.
const JOBS_AT_ONCE: usize = 500;

pub struct Matcher {
    journal: Journal,
    rules: Rules,
    outcomes: Appenders,
    clock: Clock,
}

impl Matcher {
    pub fn new(journal: Journal, rules: Rules, outcomes: Appenders, clock: Clock) -> Self {
        Self {
            journal,
            rules,
            outcomes,
            clock,
        }
    }

    /// Judges the events of a partition until stopped.
    pub async fn run(
        self: Arc<Self>,
        partition: Partition,
        stopping: CancellationToken,
    ) -> anyhow::Result<()> {
        let mut retries = Retries::new(format!("match partition {}", partition.index()), &stopping);
        while retries
            .again(self.judge_all(partition, &stopping).await)
            .await
        {}
        Ok(())
    }

    async fn judge_all(
        &self,
        partition: Partition,
        stopping: &CancellationToken,
    ) -> Result<(), journal::Error> {
        let created = self
            .journal
            .log_state(Log::Events(partition))
            .await?
            .created;
        // A log that is made anew has no consumers, so this ends with the log.
        let mut work = self.journal.events_to_match(partition).await?;
        loop {
            let task = tokio::select! {
                task = work.next() => task?,
                () = stopping.cancelled() => {
                    work.hand_back_rest().await;
                    return Ok(());
                }
            };
            let judged = tokio::select! {
                judged = self.judge(partition, &created, &task) => judged,
                () = stopping.cancelled() => {
                    let _ = task.hand_back().await;
                    return Ok(());
                }
            };
            if judged.is_err() {
                // Whoever is next may have it at once; if this fails too, it comes back by itself.
                let _ = task.hand_back().await;
                return judged;
            }
        }
    }

    async fn judge(
        &self,
        partition: Partition,
        created: &str,
        task: &Task,
    ) -> Result<(), journal::Error> {
        let events = match record::events(task.payload()) {
            Ok(events) => events,
            Err(error @ journal::Error::Corrupt { .. }) => {
                telemetry::unreadable("events", "matcher", &error);
                return task.give_up().await;
            }
            // For a matcher of that version.
            Err(_) => return task.hand_back_later().await,
        };
        self.rules.catch_up().await?;
        let mark = AlertMark::new(partition, created, task.sequence()?);
        let mut jobs = Vec::new();
        for event in &events {
            jobs.extend(self.jobs(event));
            if jobs.len() >= JOBS_AT_ONCE {
                let due = self.not_set_off_before(mem::take(&mut jobs), &mark).await?;
                self.pass_on(&due).await?;
                task.still_at_it().await?;
            }
        }
        let due = self.not_set_off_before(jobs, &mark).await?;
        self.pass_on(&due).await?;
        metrics::counter!(names::EVENTS_JUDGED).increment(events.len() as u64);
        task.settle().await
    }

    /// A delivery for each rule that wants the event.
    fn jobs(&self, event: &EventRecord<'_>) -> Vec<Job> {
        let Some(rules) = self.rules.of(event.org) else {
            return Vec::new();
        };
        // What cannot be read was counted by the index.
        let Ok(view) = EventView::parse(event.json) else {
            return Vec::new();
        };
        let event_type = view.text("event_type").unwrap_or_default();
        let matched_at = self.clock.now();
        let job = |rule: Arc<domain::rule::Rule>| {
            let matched = Matched {
                org: event.org,
                delivery: DeliveryId::of(event.id, rule.id),
                event: event.id,
                rule: rule.id,
                rule_name: rule.definition.name.clone(),
                event_type: event_type.to_string(),
                url: rule.definition.url.clone(),
                matched_at,
                cause: Cause::Match,
            };
            Job::first(matched, event.json.to_owned())
        };
        rules.matching(&view).into_iter().map(job).collect()
    }

    /// Leaves out what another message of the same event has set off already.
    async fn not_set_off_before(
        &self,
        jobs: Vec<Job>,
        mark: &AlertMark,
    ) -> Result<Vec<Job>, journal::Error> {
        let (doubtful, mut due): (Vec<Job>, Vec<Job>) = jobs
            .into_iter()
            .partition(|job| job.matched.event.is_derived());
        if doubtful.is_empty() {
            return Ok(due);
        }
        let deliveries: Vec<DeliveryId> = doubtful.iter().map(|job| job.matched.delivery).collect();
        let are_ours = self.journal.mark_alerts(&deliveries, mark).await?;
        let ours = doubtful.into_iter().zip(are_ours);
        due.extend(ours.filter_map(|(job, is_ours)| is_ours.then_some(job)));
        Ok(due)
    }

    /// On record before it is queued, so that no attempt is recorded before its delivery. The events
    /// of a message share their partition, and so do their outcomes.
    async fn pass_on(&self, jobs: &[Job]) -> Result<(), journal::Error> {
        let Some(first) = jobs.first() else {
            return Ok(());
        };
        let frames = jobs
            .iter()
            .map(|job| OutcomeRecord::Matched(job.matched.clone()))
            .collect();
        self.outcomes
            .of(first.matched.org)
            .append_patiently(frames)
            .await?;
        self.journal.deliver_all(jobs).await?;
        metrics::counter!(names::DELIVERIES_MATCHED).increment(jobs.len() as u64);
        Ok(())
    }
}
