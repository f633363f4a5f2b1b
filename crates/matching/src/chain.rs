//! Puts what was decided on record, then queues it.

use std::iter;

use domain::{
    DeliveryId, EventId, OrgId, RuleId, Timestamp,
    delivery::{Cause, State},
    event::EventView,
    partition::Partition,
    rule::{Rule, throttle::Ended},
};
use journal::{
    record::{self, Job, Matched, OutcomeRecord, Position},
    streams::Log,
};

use crate::{
    END_AFTER, Interruption, Judge, judge::state_of_alert, metrics as names,
    partition_state::PartitionState, world::World,
};

/// How many periods that ended together are put on record together: with the longest names, a third of
/// what a message takes.
const SUMMARIES_AT_ONCE: usize = 100;

/// A rule, as it counted then.
#[derive(Clone, Copy)]
pub(super) struct Whose {
    pub(super) org: OrgId,
    pub(super) rule: RuleId,
    pub(super) counts_since: u32,
}

impl Whose {
    pub(super) fn of(rule: &Rule) -> Self {
        Self {
            org: rule.org_id,
            rule: rule.id,
            counts_since: rule.counts_since,
        }
    }
}

/// What was decided on together.
#[derive(Default)]
pub(super) struct Decided {
    pub(super) facts: Vec<OutcomeRecord>,
    pub(super) jobs: Vec<Job>,
}

impl<W: World> Judge<W> {
    /// On record before it is queued, so that no attempt is recorded before its delivery. `part_of` is
    /// the place of an event whose other matches follow.
    pub(super) async fn append(
        &self,
        partition: Partition,
        state: &mut PartitionState,
        decided: Decided,
        part_of: Option<Position>,
    ) -> Result<(), Interruption> {
        state.is_unsettled = true;
        let (position, before) = (part_of.unwrap_or(state.position), state.last);
        let judged = state.judged(position, part_of.is_some());
        let first = OutcomeRecord::Judged(judged.clone());
        let message = record::message_of(iter::once(&first).chain(&decided.facts));
        let nonce = self.world.nonce();
        let appended =
            self.world
                .append_judgment(partition, state.last, &nonce, state.reached_ns, message);
        let sequence = appended.await?.ok_or(Interruption::Overtaken)?;
        state.appended(sequence, &judged);
        self.world.deliver_all(&decided.jobs).await?;
        metrics::counter!(names::DELIVERIES_MATCHED).increment(decided.jobs.len() as u64);
        if part_of.is_none() {
            state.settled = sequence;
        }
        // Whatever was queued since what it says is settled has to be said by the next one.
        if !decided.jobs.is_empty() || judged.settled != before {
            state.go_ahead();
        }
        state.is_unsettled = false;
        Ok(())
    }

    /// Puts on record how far we are, unless it is.
    pub(super) async fn confirm(
        &self,
        partition: Partition,
        state: &mut PartitionState,
    ) -> Result<(), Interruption> {
        if state.ahead_since.is_some() {
            self.append(partition, state, Decided::default(), None)
                .await?;
        }
        Ok(())
    }

    /// Ends periods that are over by the clock; `false` if there are events left that may have come before
    /// that.
    pub(super) async fn end_periods_by_clock(
        &self,
        partition: Partition,
        state: &mut PartitionState,
    ) -> Result<bool, Interruption> {
        let now = self.world.now();
        let log = self.world.log_state(Log::Events(partition)).await?;
        if log.messages > 0 && log.last_sequence > state.position.sequence {
            return Ok(false);
        }
        self.world.catch_up().await?;
        self.end_periods(partition, state, now).await?;
        Ok(true)
    }

    /// Ends periods that have been over for a while by `now`, some of them: there may be thousands, and
    /// events wait.
    pub(super) async fn end_periods(
        &self,
        partition: Partition,
        state: &mut PartitionState,
        now: Timestamp,
    ) -> Result<(), Interruption> {
        let Some(over) = state.take_ended(now.minus(END_AFTER), SUMMARIES_AT_ONCE) else {
            return Ok(());
        };
        // Until it is on record.
        state.is_unsettled = true;
        let mut decided = Decided::default();
        self.decide_on_summaries(partition, over.whose, &over.ended, &mut decided)
            .await?;
        self.append(partition, state, decided, None).await
    }

    /// Periods of a rule ended: for each, one delivery says how many alerts were kept back, if the rule
    /// still sends.
    pub(super) async fn decide_on_summaries(
        &self,
        partition: Partition,
        whose: Whose,
        ended: &[Ended],
        decided: &mut Decided,
    ) -> Result<(), journal::Error> {
        let rule = self.rule(whose);
        let sends = |rule: &Rule, ended: &Ended| state_of_alert(rule, ended.at) == State::Pending;
        let wanted: Vec<(u64, EventId)> = ended
            .iter()
            .filter(|ended| rule.as_ref().is_some_and(|rule| sends(rule, ended)))
            .map(|ended| (ended.last.message, ended.last.event))
            .collect();
        let events = self.events_again(partition, wanted).await?;
        for ended in ended {
            let json = events.get(&ended.last.event);
            let job = rule.as_ref().zip(json);
            let job = job.map(|(rule, json)| summary(rule, ended, json, self.world.now()));
            let fact = record::Ended {
                org: whose.org,
                rule: whose.rule,
                counts_since: whose.counts_since,
                group: ended.group.clone(),
                message: ended.last.message,
                summary: job.as_ref().map(|job| job.matched.clone()),
            };
            decided.facts.push(OutcomeRecord::Ended(Box::new(fact)));
            decided.jobs.extend(job);
        }
        Ok(())
    }
}

/// The delivery that says how many alerts were kept back.
fn summary(rule: &Rule, ended: &Ended, json: &str, now: Timestamp) -> Job {
    let view = EventView::parse(json).unwrap_or_default();
    let event_type = view.text("event_type").unwrap_or_default();
    let cause = Cause::Summary {
        suppressed: ended.suppressed,
    };
    let event = ended.last.event;
    let delivery = (DeliveryId::of_summary(event, rule.id), cause);
    let matched = Matched::by(rule, delivery, (event, &event_type), now);
    Job::first(matched, json.to_owned())
}
