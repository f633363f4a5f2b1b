//! Puts events before the rules.

use std::{collections::HashSet, sync::Arc};

use domain::{
    DeliveryId, EventId, OrgId, RuleId, Timestamp,
    delivery::{Cause, State},
    event::EventView,
    partition::Partition,
    rule::{
        Rule, RuleSet,
        pace::{Fate, Groups, Match, Step},
    },
};
use journal::{
    follow::Entry,
    once::AlertMark,
    record::{self, Alerted, Counted, EventRecord, Job, Matched, OutcomeRecord, Paced, Position},
};

use tokio::task::yield_now;

use super::{Interruption, Matcher, chain::Decided, memory::Memory};
use crate::telemetry::{self, metrics as names};

/// How many matches are put on record together: an event message can match many rules a thousand
/// times, and each delivery carries its event.
const MATCHES_AT_ONCE: usize = 500;
/// How many bytes of them. Each can end two periods, whose summaries are as long as itself, so a message
/// of the journal may be three times as large; the server takes 1 MiB.
const BYTES_AT_ONCE: usize = 192 * 1024;
/// What a match takes on record beside its texts.
const MATCH_BYTES: usize = 256;

/// An event that a rule wants.
struct Wanted<'e> {
    event: EventRecord<'e>,
    /// The message it is in.
    message: u64,
    event_type: Arc<str>,
    rule: Arc<Rule>,
    groups: Groups,
}

/// Matches to be put on record together.
#[derive(Default)]
struct Slice<'e> {
    wanted: Vec<Wanted<'e>>,
    bytes: usize,
}

/// The rules of the organisation that was asked for last: events of one come together.
#[derive(Default)]
struct LastRules(Option<(OrgId, Option<Arc<RuleSet>>)>);

impl Matcher {
    /// Judges the events of some messages, as far as they are not judged yet.
    pub(super) async fn judge(
        &self,
        partition: Partition,
        memory: &mut Memory,
        entries: &[Entry],
    ) -> Result<(), Interruption> {
        self.rules.catch_up().await?;
        let (mut slice, mut rules) = (Slice::default(), LastRules::default());
        for entry in entries {
            if entry.sequence <= memory.position.sequence {
                continue;
            }
            let events = match record::events(&entry.payload) {
                Ok(events) => events,
                Err(error @ journal::Error::Corrupt { .. }) => {
                    telemetry::unreadable("events", "matcher", &error);
                    Vec::new()
                }
                // For a matcher of that version; those before it are judged.
                Err(error) => {
                    self.put_on_record(partition, memory, slice, None).await?;
                    return Err(error.into());
                }
            };
            let begun = if entry.sequence == memory.position.sequence + 1 {
                memory.position.records
            } else {
                0
            };
            let mut marked = HashSet::new();
            for (number, event) in (0u32..).zip(&events).skip(begun as usize) {
                memory.see(event.received_at);
                let set = rules.of(self, event.org);
                for wanted in wanted(set, event, entry.sequence) {
                    let pair = (event.id, wanted.rule.id);
                    let is_repeated = event.id.is_derived() && !marked.insert(pair);
                    if is_repeated || memory.is_known(pair) {
                        continue;
                    }
                    slice.push(wanted);
                    if slice.is_full() {
                        let part = Position {
                            sequence: entry.sequence - 1,
                            records: number,
                        };
                        let full = std::mem::take(&mut slice);
                        self.put_on_record(partition, memory, full, Some(part))
                            .await?;
                    }
                }
                memory.forget_known();
                memory.position = Position {
                    sequence: entry.sequence - 1,
                    records: number + 1,
                };
                memory.is_ahead = true;
            }
            memory.position = Position {
                sequence: entry.sequence,
                records: 0,
            };
            memory.is_ahead = true;
            metrics::counter!(names::EVENTS_JUDGED).increment(events.len() as u64);
            // Whoever shares our thread, and the word that we still have the turn.
            yield_now().await;
        }
        self.put_on_record(partition, memory, slice, None).await?;
        self.end_periods(partition, memory, memory.clock()).await
    }

    /// Decides what becomes of matches, in their order, and puts it on record; `part_of` is the place
    /// of the event that more of them may follow of.
    async fn put_on_record(
        &self,
        partition: Partition,
        memory: &mut Memory,
        slice: Slice<'_>,
        part_of: Option<Position>,
    ) -> Result<(), Interruption> {
        if slice.wanted.is_empty() {
            return Ok(());
        }
        let mut decided = Decided::default();
        for wanted in self.not_set_off_before(partition, memory, slice).await? {
            let rule = &wanted.rule;
            let hit = Match {
                event: wanted.event.id,
                message: wanted.message,
                at: wanted.event.received_at,
            };
            let step = memory.step(rule, &wanted.groups, hit);
            for ended in &step.ended {
                let whose = (rule.org_id, rule.id, rule.counts_since);
                self.decide_on_summary(partition, whose, ended, &mut decided)
                    .await?;
            }
            if step.overflowed {
                metrics::counter!(names::PACE_OVERFLOWS).increment(1);
            }
            decide(&wanted, step, self.clock.now(), &mut decided);
        }
        self.append(partition, memory, decided, part_of).await
    }

    /// Leaves out what another message of the same event has set off already.
    async fn not_set_off_before<'e>(
        &self,
        partition: Partition,
        memory: &Memory,
        slice: Slice<'e>,
    ) -> Result<Vec<Wanted<'e>>, journal::Error> {
        let mut kept = Vec::with_capacity(slice.wanted.len());
        let mut wanted = slice.wanted.into_iter().peekable();
        // Those of one message share their mark.
        while let Some(message) = wanted.peek().map(|first| first.message) {
            let of_message: Vec<Wanted<'e>> =
                std::iter::from_fn(|| wanted.next_if(|next| next.message == message)).collect();
            let doubtful: Vec<DeliveryId> = of_message
                .iter()
                .filter(|wanted| wanted.event.id.is_derived())
                .map(Wanted::delivery)
                .collect();
            let mark = AlertMark::new(partition, &memory.created, message);
            let mut are_ours = self
                .journal
                .mark_alerts(&doubtful, &mark)
                .await?
                .into_iter();
            kept.extend(
                of_message.into_iter().filter(|wanted| {
                    !wanted.event.id.is_derived() || are_ours.next().unwrap_or(true)
                }),
            );
        }
        Ok(kept)
    }
}

/// The rules that want an event.
fn wanted<'e>(rules: Option<&RuleSet>, event: &EventRecord<'e>, message: u64) -> Vec<Wanted<'e>> {
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
    let wanted = |rule: Arc<Rule>| Wanted {
        groups: Groups::of(&rule.definition, &view),
        event: event.clone(),
        message,
        event_type: Arc::clone(&event_type),
        rule,
    };
    matching.into_iter().map(wanted).collect()
}

/// Puts down what a match came to.
fn decide(wanted: &Wanted<'_>, step: Step, now: Timestamp, decided: &mut Decided) {
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
    let matched = Matched {
        org: event.org,
        delivery: wanted.delivery(),
        event: event.id,
        rule: rule.id,
        rule_name: rule.definition.name.clone(),
        event_type: wanted.event_type.to_string(),
        url: rule.definition.url.clone(),
        matched_at: now,
        cause: Cause::Match,
    };
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

impl Wanted<'_> {
    fn delivery(&self) -> DeliveryId {
        DeliveryId::of(self.event.id, self.rule.id)
    }
}

impl<'e> Slice<'e> {
    fn push(&mut self, wanted: Wanted<'e>) {
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

    fn is_full(&self) -> bool {
        self.wanted.len() >= MATCHES_AT_ONCE || self.bytes >= BYTES_AT_ONCE
    }
}

impl LastRules {
    fn of(&mut self, matcher: &Matcher, org: OrgId) -> Option<&RuleSet> {
        if self.0.as_ref().is_none_or(|(last, _)| *last != org) {
            self.0 = Some((org, matcher.rules.of(org)));
        }
        self.0.as_ref().and_then(|(_, rules)| rules.as_deref())
    }
}

/// An event and a rule that wants it.
pub(super) type Pair = (EventId, RuleId);
