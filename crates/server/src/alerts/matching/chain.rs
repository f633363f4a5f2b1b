//! Puts what was decided on record, then queues it.

use std::iter;

use domain::{
    DeliveryId, OrgId, RuleId, Timestamp,
    delivery::{Cause, State},
    event::EventView,
    partition::Partition,
    rule::pace::Ended,
};
use journal::{
    record::{self, Job, Matched, OutcomeRecord, Position},
    streams::Log,
};

use super::{END_AFTER, Interruption, Matcher, judge::state_of_alert, memory::Memory};
use crate::telemetry::metrics as names;

/// How many periods that ended together are put on record together: with the longest names, a third of
/// what a message takes.
const SUMMARIES_AT_ONCE: usize = 100;

/// What was decided on together.
#[derive(Default)]
pub(super) struct Decided {
    pub(super) facts: Vec<OutcomeRecord>,
    pub(super) jobs: Vec<Job>,
}

impl Matcher {
    /// On record before it is queued, so that no attempt is recorded before its delivery. `part_of` is
    /// the place of an event whose other matches follow.
    pub(super) async fn append(
        &self,
        partition: Partition,
        memory: &mut Memory,
        decided: Decided,
        part_of: Option<Position>,
    ) -> Result<(), Interruption> {
        let position = part_of.unwrap_or(memory.position);
        let judged = memory.judged(position, part_of.is_some());
        let first = OutcomeRecord::Judged(judged.clone());
        let message = record::message_of(iter::once(&first).chain(&decided.facts));
        let appended = self
            .journal
            .append_judgement(partition, memory.last, message);
        let sequence = appended.await?.ok_or(Interruption::Overtaken)?;
        memory.appended(sequence, &judged);
        self.journal.deliver_all(&decided.jobs).await?;
        metrics::counter!(names::DELIVERIES_MATCHED).increment(decided.jobs.len() as u64);
        if part_of.is_none() {
            memory.settled = sequence;
        }
        memory.is_ahead = !decided.jobs.is_empty();
        Ok(())
    }

    /// Puts on record how far we are, unless it is.
    pub(super) async fn confirm(
        &self,
        partition: Partition,
        memory: &mut Memory,
    ) -> Result<(), Interruption> {
        if memory.is_ahead {
            self.append(partition, memory, Decided::default(), None)
                .await?;
        }
        Ok(())
    }

    /// Ends the periods that are over by the clock, unless there are events left that may have come
    /// before that.
    pub(super) async fn end_periods_by_clock(
        &self,
        partition: Partition,
        memory: &mut Memory,
    ) -> Result<(), Interruption> {
        let now = self.clock.now();
        let state = self.journal.log_state(Log::Events(partition)).await?;
        if state.last_sequence > memory.position.sequence {
            return Ok(());
        }
        self.rules.catch_up().await?;
        self.end_periods(partition, memory, now).await
    }

    /// Ends the periods that have been over for a while by `now`.
    pub(super) async fn end_periods(
        &self,
        partition: Partition,
        memory: &mut Memory,
        now: Timestamp,
    ) -> Result<(), Interruption> {
        while let Some(over) = memory.take_over(now.minus(END_AFTER)) {
            let rule = (over.org, over.rule, over.counts_since);
            for some in over.ended.chunks(SUMMARIES_AT_ONCE) {
                let mut decided = Decided::default();
                for ended in some {
                    self.decide_on_summary(partition, rule, ended, &mut decided)
                        .await?;
                }
                self.append(partition, memory, decided, None).await?;
            }
        }
        Ok(())
    }

    /// A period ended: one delivery says how many alerts were kept back, if the rule still sends.
    pub(super) async fn decide_on_summary(
        &self,
        partition: Partition,
        (org, rule, counts_since): (OrgId, RuleId, u32),
        ended: &Ended,
        decided: &mut Decided,
    ) -> Result<(), journal::Error> {
        let job = self.summary(partition, (org, rule, counts_since), ended);
        let job = job.await?;
        let fact = record::Ended {
            org,
            rule,
            counts_since,
            group: ended.group.clone(),
            message: ended.last.message,
            summary: job.as_ref().map(|job| job.matched.clone()),
        };
        decided.facts.push(OutcomeRecord::Ended(Box::new(fact)));
        decided.jobs.extend(job);
        Ok(())
    }

    async fn summary(
        &self,
        partition: Partition,
        (org, rule, counts_since): (OrgId, RuleId, u32),
        ended: &Ended,
    ) -> Result<Option<Job>, journal::Error> {
        let Some(rule) = self.rule(org, rule, counts_since) else {
            return Ok(None);
        };
        if state_of_alert(&rule, ended.at) != State::Pending {
            return Ok(None);
        }
        let (message, event) = (ended.last.message, ended.last.event);
        let Some(json) = self.event_again(partition, message, event).await? else {
            return Ok(None);
        };
        let view = EventView::parse(&json).unwrap_or_default();
        let matched = Matched {
            org,
            delivery: DeliveryId::of_summary(event, rule.id),
            event,
            rule: rule.id,
            rule_name: rule.definition.name.clone(),
            event_type: view.text("event_type").unwrap_or_default().into_owned(),
            url: rule.definition.url.clone(),
            matched_at: self.clock.now(),
            cause: Cause::Summary {
                suppressed: ended.suppressed,
            },
        };
        Ok(Some(Job::first(matched, json)))
    }
}
