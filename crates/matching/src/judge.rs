//! Puts events before the rules.

use std::{collections::HashSet, sync::Arc, time::Duration};

use domain::{
    DeliveryId, EventId, OrgId, RuleId, Timestamp,
    delivery::{Cause, State},
    event::EventView,
    partition::Partition,
    rule::{
        Rule, RuleSet,
        throttle::{Fate, Groups, Match, Step},
    },
};
use journal::{
    dedup::AlertMark,
    follow::Entry,
    record::{self, Alerted, Counted, EventRecord, Job, Matched, OutcomeRecord, Paced, Position},
};

use tokio::{task::yield_now, time::Instant};

use crate::{
    Interruption, Judge,
    chain::{Decided, Whose},
    metrics as names,
    partition_state::PartitionState,
    world::World,
};

/// How many matches are put on record together: an event message can match many rules a thousand
/// times, and each delivery carries its event.
pub(super) const MATCHES_AT_ONCE: usize = 500;
/// How many bytes of them. Each can end a period, whose summary is as long as itself, so a message of the
/// journal may be twice as large; the server takes 1 MiB.
const BYTES_AT_ONCE: usize = 192 * 1024;
/// What a match takes on record beside its texts.
const MATCH_BYTES: usize = 256;

/// How far the clock of whoever received an event may be ahead of ours: more is not believed, because
/// the clock of a rule never goes back.
const AHEAD_MAX: Duration = Duration::from_secs(5);
/// How long events are judged in one go.
const YIELD_AFTER: Duration = Duration::from_millis(5);

/// An event that a rule wants.
struct Candidate<'e> {
    event: EventRecord<'e>,
    /// The message it is in.
    message: u64,
    /// When it was received, as far as we believe it.
    at: Timestamp,
    event_type: Arc<str>,
    rule: Arc<Rule>,
    groups: Groups,
}

/// Matches to be put on record together.
#[derive(Default)]
struct Slice<'e> {
    wanted: Vec<Candidate<'e>>,
    bytes: usize,
}

/// What a batch of messages is judged with.
struct Batch<'e> {
    partition: Partition,
    slice: Slice<'e>,
    /// The rules of the organization that was asked for last: events of one come together.
    rules: Option<(OrgId, Option<Arc<RuleSet>>)>,
    yielded: Instant,
}

impl<W: World> Judge<W> {
    /// Judges the events of some messages, as far as they are not judged yet.
    pub(super) async fn judge(
        &self,
        partition: Partition,
        state: &mut PartitionState,
        entries: &[Entry],
    ) -> Result<(), Interruption> {
        self.world.catch_up().await?;
        let mut batch = Batch {
            partition,
            slice: Slice::default(),
            rules: None,
            yielded: Instant::now(),
        };
        for entry in entries {
            if entry.sequence <= state.position.sequence {
                continue;
            }
            let events = match record::events(&entry.payload) {
                Ok(events) => events,
                Err(error @ journal::Error::Corrupt { .. }) => {
                    journal::metrics::unreadable("events", "matcher", &error);
                    Vec::new()
                }
                // For a matcher of that version; those before it are judged.
                Err(error) => {
                    self.put_on_record(state, batch, None).await?;
                    return Err(error.into());
                }
            };
            self.judge_message(state, &mut batch, entry.sequence, &events)
                .await?;
            state.reached_ns = Some(entry.stored_ns);
            metrics::counter!(names::EVENTS_JUDGED).increment(events.len() as u64);
        }
        self.put_on_record(state, batch, None).await?;
        self.end_periods(partition, state, state.clock()).await
    }

    async fn judge_message<'e>(
        &self,
        state: &mut PartitionState,
        batch: &mut Batch<'e>,
        message: u64,
        events: &[EventRecord<'e>],
    ) -> Result<(), Interruption> {
        let before = Position {
            sequence: message - 1,
            records: 0,
        };
        let begun = state.position.records * u32::from(state.position.sequence == message - 1);
        // Of an event that is in the message twice the first one counts.
        let mut named = HashSet::new();
        for (records, event) in (0u32..).zip(events) {
            let is_repeated = event.id.is_derived() && !named.insert(event.id);
            if records < begun || is_repeated {
                continue;
            }
            let here = Position { records, ..before };
            self.judge_event(state, batch, here, event).await?;
            state.judged_up_to(Position {
                records: records + 1,
                ..before
            });
            batch.let_others_go_on().await;
        }
        state.judged_up_to(Position {
            sequence: message,
            records: 0,
        });
        Ok(())
    }

    async fn judge_event<'e>(
        &self,
        state: &mut PartitionState,
        batch: &mut Batch<'e>,
        here: Position,
        event: &EventRecord<'e>,
    ) -> Result<(), Interruption> {
        let at = event.received_at.min(self.world.now().plus(AHEAD_MAX));
        state.see(at);
        let rules = batch.rules_of(&self.world, event.org);
        for wanted in wanted(rules.as_deref(), event, here.sequence + 1, at) {
            if state.is_known((event.id, wanted.rule.id)) {
                continue;
            }
            state.is_unsettled = true;
            batch.slice.push(wanted);
            if batch.slice.is_full(self.matches_at_once) {
                let full = batch.take();
                self.put_on_record(state, full, Some(here)).await?;
            }
        }
        Ok(())
    }

    /// Decides what becomes of matches, in their order, and puts it on record; `part_of` is the place of
    /// an event that may have more of them.
    async fn put_on_record(
        &self,
        state: &mut PartitionState,
        batch: Batch<'_>,
        part_of: Option<Position>,
    ) -> Result<(), Interruption> {
        let Batch {
            partition, slice, ..
        } = batch;
        if slice.wanted.is_empty() {
            return Ok(());
        }
        let mut decided = Decided::default();
        for wanted in self.not_set_off_before(partition, state, slice).await? {
            let rule = &wanted.rule;
            let hit = Match {
                event: wanted.event.id,
                message: wanted.message,
                at: wanted.at,
            };
            let step = state.step(rule, &wanted.groups, hit);
            if !step.ended.is_empty() {
                let whose = Whose::of(rule);
                self.decide_on_summaries(partition, whose, &step.ended, &mut decided)
                    .await?;
            }
            if step.overflowed {
                metrics::counter!(names::PACE_OVERFLOWS).increment(1);
            }
            decide(&wanted, &step, self.world.now(), &mut decided);
        }
        self.append(partition, state, decided, part_of).await
    }

    /// Leaves out what another message of the same event has set off already.
    async fn not_set_off_before<'e>(
        &self,
        partition: Partition,
        state: &PartitionState,
        slice: Slice<'e>,
    ) -> Result<Vec<Candidate<'e>>, journal::Error> {
        let mark = |wanted: &Candidate<'_>| {
            let mark = AlertMark::new(partition, &state.created, wanted.message);
            (wanted.delivery(), mark)
        };
        let doubtful = slice.wanted.iter().filter(|it| it.event.id.is_derived());
        let doubtful: Vec<(DeliveryId, AlertMark)> = doubtful.map(mark).collect();
        let mut are_ours = self.world.mark_alerts(&doubtful).await?.into_iter();
        let mut wanted = slice.wanted;
        wanted.retain(|it| !it.event.id.is_derived() || are_ours.next().unwrap_or(true));
        Ok(wanted)
    }
}

impl Batch<'_> {
    fn rules_of(&mut self, world: &impl World, org: OrgId) -> Option<Arc<RuleSet>> {
        match &self.rules {
            Some((last, rules)) if *last == org => rules.clone(),
            _ => {
                let rules = world.rules_of(org);
                self.rules = Some((org, rules.clone()));
                rules
            }
        }
    }

    /// What was gathered, to be put on record; the batch goes on without it.
    fn take(&mut self) -> Self {
        Self {
            partition: self.partition,
            slice: std::mem::take(&mut self.slice),
            rules: None,
            yielded: self.yielded,
        }
    }

    /// Who shares our thread, and the word that we still have the turn.
    async fn let_others_go_on(&mut self) {
        if self.yielded.elapsed() > YIELD_AFTER {
            yield_now().await;
            self.yielded = Instant::now();
        }
    }
}

/// The rules that want an event.
fn wanted<'e>(
    rules: Option<&RuleSet>,
    event: &EventRecord<'e>,
    message: u64,
    at: Timestamp,
) -> Vec<Candidate<'e>> {
    let Some(rules) = rules else {
        return Vec::new();
    };
    // What cannot be read was counted by the index.
    let Ok(view) = EventView::parse(event.json) else {
        return Vec::new();
    };
    let matching = rules.matching(&view);
    if matching.is_empty() {
        return Vec::new();
    }
    let event_type: Arc<str> = view.text("event_type").unwrap_or_default().into();
    let wanted = |rule: Arc<Rule>| Candidate {
        groups: Groups::of(&rule.definition, &view),
        event: event.clone(),
        message,
        at,
        event_type: Arc::clone(&event_type),
        rule,
    };
    matching.into_iter().map(wanted).collect()
}

/// Puts down what a match came to.
fn decide(wanted: &Candidate<'_>, step: &Step, now: Timestamp, decided: &mut Decided) {
    let (event, rule) = (&wanted.event, &wanted.rule);
    let paced = Paced {
        message: wanted.message,
        at: step.hit.at,
        counts_since: rule.counts_since,
        groups: wanted.groups.clone(),
        overflowed: step.overflowed,
    };
    let state = match step.fate {
        Fate::Counted => {
            let (org, event, rule) = (event.org, event.id, rule.id);
            decided.facts.push(OutcomeRecord::Counted(Counted {
                org,
                event,
                rule,
                paced,
            }));
            return;
        }
        Fate::Suppressed => State::Suppressed,
        Fate::Alert => state_of_alert(rule, step.hit.at),
    };
    let delivery = (wanted.delivery(), Cause::Match);
    let matched = Matched::by(rule, delivery, (event.id, &wanted.event_type), now);
    if state == State::Pending {
        let json = event.json.to_owned();
        decided.jobs.push(Job::first(matched.clone(), json));
    } else {
        metrics::counter!(names::ALERTS_WITHHELD, "state" => state.as_str()).increment(1);
    }
    decided.facts.push(OutcomeRecord::Alerted(Box::new(Alerted {
        matched,
        state,
        paced,
    })));
}

/// Whether an alert of a rule is sent.
pub(super) fn state_of_alert(rule: &Rule, at: Timestamp) -> State {
    if rule.definition.shadow {
        State::Shadow
    } else if rule
        .definition
        .snoozed_until
        .is_some_and(|until| at < until)
    {
        State::Snoozed
    } else {
        State::Pending
    }
}

impl Candidate<'_> {
    fn delivery(&self) -> DeliveryId {
        DeliveryId::of(self.event.id, self.rule.id)
    }
}

impl<'e> Slice<'e> {
    fn push(&mut self, wanted: Candidate<'e>) {
        let rule = &wanted.rule.definition;
        let groups = [&wanted.groups.threshold, &wanted.groups.suppress];
        let groups: usize = groups
            .into_iter()
            .flatten()
            .map(|it| it.as_str().len())
            .sum();
        self.bytes += MATCH_BYTES + rule.name.len() + rule.url.len() + groups;
        self.wanted.push(wanted);
    }

    fn is_full(&self, matches: usize) -> bool {
        self.wanted.len() >= matches || self.bytes >= BYTES_AT_ONCE
    }
}

/// An event and a rule that wants it.
pub(super) type Pair = (EventId, RuleId);
