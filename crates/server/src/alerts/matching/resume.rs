//! Goes on where the record says that another matcher was, or we were.

use std::sync::Arc;

use domain::{
    EventId, OrgId, RuleId,
    delivery::State,
    partition::Partition,
    rule::{
        Rule,
        pace::{Fate, Match},
    },
};
use journal::{
    judged::Judgement,
    record::{self, Job, Judged, Matched, OutcomeRecord, Paced, Position},
    streams::Log,
};

use super::{Interruption, MESSAGES_MAX, Matcher, judge::Pair, memory::Memory};

impl Matcher {
    /// Reads what was judged since we last did, and queues what may not be queued yet.
    pub(super) async fn resume(
        &self,
        partition: Partition,
        memory: &mut Memory,
    ) -> Result<(), Interruption> {
        // Those that the record was made by, or later ones.
        self.rules.catch_up().await?;
        let state = self.journal.log_state(Log::Events(partition)).await?;
        let Some(end) = self.journal.last_judgement(partition).await? else {
            memory.created = state.created;
            return Ok(());
        };
        if end.sequence != memory.last {
            self.read_chain(partition, memory, &end).await?;
        }
        memory.retain(|org, rule, counts_since| self.rule(org, rule, counts_since).is_some());
        memory.position = if end.judged.created == state.created {
            // A log that was put back to an earlier state has less than we saw; that much is judged.
            let whole = Position {
                sequence: state.last_sequence,
                records: 0,
            };
            end.judged.position.min(whole)
        } else {
            Position::default()
        };
        memory.created = state.created;
        Ok(())
    }

    async fn read_chain(
        &self,
        partition: Partition,
        memory: &mut Memory,
        end: &Judgement,
    ) -> Result<(), Interruption> {
        let Judged { settled, since, .. } = end.judged;
        let needed_from = since.min(settled + 1);
        if memory.last + 1 < needed_from || memory.last > end.sequence {
            *memory = Memory::default();
        }
        let mut unsettled = Vec::new();
        let mut known = Vec::new();
        let mut chain = self
            .journal
            .judgements(partition, memory.last.max(needed_from.saturating_sub(1)));
        while chain.position() < end.sequence {
            for entry in chain.next(MESSAGES_MAX).await? {
                let read = Judgement::read(entry.sequence, &entry.payload);
                let judgement = match read {
                    Err(journal::Error::Corrupt { .. }) => None,
                    read => read?,
                };
                let Some(judgement) = judgement.filter(|it| it.sequence <= end.sequence) else {
                    continue;
                };
                let is_unsettled = judgement.sequence > settled;
                for fact in judgement.facts {
                    self.restore(memory, &fact);
                    if is_unsettled {
                        known.extend(pair(&fact));
                        unsettled.extend(to_be_sent(fact));
                    }
                }
                memory.appended(judgement.sequence, &judgement.judged);
            }
        }
        memory.last = end.sequence;
        memory.settled = settled;
        if end.judged.is_partial {
            memory.know(known);
        }
        self.queue_again(partition, unsettled).await?;
        if !end.judged.is_partial {
            memory.settled = end.sequence;
            memory.is_ahead = true;
        }
        Ok(())
    }

    /// The pace of a rule goes on as it is on record, if the rule still counts as it did.
    fn restore(&self, memory: &mut Memory, fact: &OutcomeRecord) {
        let (org, rule, event, paced, fate) = match fact {
            OutcomeRecord::Counted(it) => (it.org, it.rule, it.event, &it.paced, Fate::Counted),
            OutcomeRecord::Alerted(it) => {
                let fate = if it.state == State::Suppressed {
                    Fate::Suppressed
                } else {
                    Fate::Alert
                };
                let matched = &it.matched;
                (matched.org, matched.rule, matched.event, &it.paced, fate)
            }
            OutcomeRecord::Ended(it) => {
                memory.ended(it.rule, it.counts_since, &it.group);
                return;
            }
            OutcomeRecord::Matched(_) | OutcomeRecord::Attempted(_) | OutcomeRecord::Judged(_) => {
                return;
            }
        };
        if let Some(rule) = self.rule(org, rule, paced.counts_since) {
            let Paced { message, at, .. } = *paced;
            let hit = Match { event, message, at };
            memory.restore(&rule, &paced.groups, hit, fate);
        }
    }

    /// Queues deliveries that whoever decided on them may not have queued. Those that were are
    /// recognised.
    async fn queue_again(
        &self,
        partition: Partition,
        unsettled: Vec<(u64, Matched)>,
    ) -> Result<(), journal::Error> {
        for (message, matched) in unsettled {
            let json = self.event_again(partition, message, matched.event).await?;
            if let Some(json) = json {
                self.journal
                    .deliver_all(&[Job::first(matched, json)])
                    .await?;
            }
        }
        Ok(())
    }

    /// The bytes of an event that was judged before.
    pub(super) async fn event_again(
        &self,
        partition: Partition,
        message: u64,
        event: EventId,
    ) -> Result<Option<String>, journal::Error> {
        let payload = self.journal.event_message(partition, message).await?;
        let payload = payload.unwrap_or_default();
        let events = record::events(&payload).unwrap_or_default();
        let found = events.into_iter().find(|record| record.id == event);
        if found.is_none() {
            tracing::error!(event.id = %event, message, "an event that was judged is gone");
        }
        Ok(found.map(|record| record.json.to_owned()))
    }

    /// A rule that is enabled and counts as it did then.
    pub(super) fn rule(&self, org: OrgId, rule: RuleId, counts_since: u32) -> Option<Arc<Rule>> {
        let rules = self.rules.of(org)?;
        let rule = rules.get(rule)?;
        let is_it = rule.definition.enabled && rule.counts_since == counts_since;
        is_it.then(|| Arc::clone(rule))
    }
}

fn pair(fact: &OutcomeRecord) -> Option<Pair> {
    match fact {
        OutcomeRecord::Counted(counted) => Some((counted.event, counted.rule)),
        OutcomeRecord::Alerted(alerted) => Some((alerted.matched.event, alerted.matched.rule)),
        _ => None,
    }
}

/// The delivery that a fact says is to be sent, and the message that its event is in.
fn to_be_sent(fact: OutcomeRecord) -> Option<(u64, Matched)> {
    match fact {
        OutcomeRecord::Alerted(alerted) if alerted.state == State::Pending => {
            Some((alerted.paced.message, alerted.matched))
        }
        OutcomeRecord::Ended(ended) => Some((ended.message, ended.summary?)),
        _ => None,
    }
}
