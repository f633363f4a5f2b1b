//! Goes on where the record says that another matcher was, or we were.

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::{
    EventId,
    delivery::State,
    partition::Partition,
    rule::{
        Rule,
        throttle::{Fate, Match},
    },
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use journal::{
    log_state::LogState,
    match_log::Judgment,
    record::{self, EventRecord, Judged, Matched, OutcomeRecord, Paced, Position},
    streams::Log,
};

use tokio::time::timeout;

use crate::{
    Interruption, Judge, MESSAGES_MAX,
    chain::Whose,
    judge::Pair,
    partition_state::PartitionState,
    requeue::Unsettled,
    world::{Reader, World},
};

/// The end of the chain was there when we asked: what does not come by then was lost, and we ask anew.
pub(super) const READ_WITHIN: Duration = Duration::from_secs(15);
/// How many messages of events are read again at the same time.
const READS_AT_ONCE: usize = 16;

impl<W: World> Judge<W> {
    /// Reads what was judged since we last did, and queues what may not be queued yet.
    pub(super) async fn resume(
        &self,
        partition: Partition,
        state: &mut PartitionState,
    ) -> Result<(), Interruption> {
        // Those that the record was made by, or later ones.
        self.world.catch_up().await?;
        // Asked for before the log's end, which another may judge meanwhile.
        let end = self.world.last_judgment(partition).await?;
        let log = self.world.log_state(Log::Events(partition)).await?;
        let Some(end) = end else {
            // Whatever we know is of a record that was lost.
            *state = PartitionState::default();
            state.created = log.created;
            return Ok(());
        };
        // Which rules are on record for the event at the end, only the record knows: we may be past it, and go back to it.
        if end.judged.is_partial {
            *state = PartitionState::default();
        }
        if end.sequence != state.last {
            self.read_chain(partition, state, &end).await?;
        }
        state.retain(|whose| self.rule(whose).is_some());
        self.stand(partition, state, &end, &log).await?;
        state.created = log.created;
        Ok(())
    }

    /// Takes our place in the log as it is now.
    async fn stand(
        &self,
        partition: Partition,
        state: &mut PartitionState,
        end: &Judgment,
        log: &LogState,
    ) -> Result<(), Interruption> {
        (state.position, state.reached_ns) = (Position::default(), None);
        if end.judged.created != log.created {
            return Ok(());
        }
        let events = Log::Events(partition);
        let whole = |sequence| Position {
            sequence,
            records: 0,
        };
        // A log that was put back to an earlier state has less than we saw; that much is judged.
        state.position = end.judged.position.min(whole(log.last_sequence));
        let there = self
            .world
            .stored_ns(events, state.position.sequence)
            .await?;
        state.reached_ns = there;
        if let Some(reached) = end.reached_ns
            && there.is_some_and(|there| there != reached)
        {
            // What came after that has sequences that others had; what came before was stored before.
            let judged = self.world.last_stored_by(events, reached).await?;
            let (position, end) = (end.judged.position.sequence, log.last_sequence);
            tracing::error!(
                partition = partition.index(),
                position,
                judged,
                end,
                "the end of the journal is missing; judging what came since"
            );
            state.position = whole(judged);
            state.reached_ns = self.world.stored_ns(events, judged).await?;
        }
        Ok(())
    }

    async fn read_chain(
        &self,
        partition: Partition,
        state: &mut PartitionState,
        end: &Judgment,
    ) -> Result<(), Interruption> {
        let Judged { settled, since, .. } = end.judged;
        let needed_from = since.min(settled + 1);
        if state.last + 1 < needed_from || state.last > end.sequence {
            *state = PartitionState::default();
        }
        // Until what is found is queued.
        state.is_unsettled = true;
        let mut unsettled = Vec::new();
        let mut known = Vec::new();
        let mut chain = self
            .world
            .judgments(partition, state.last.max(needed_from.saturating_sub(1)));
        while chain.position() < end.sequence {
            let read = timeout(READ_WITHIN, chain.next(MESSAGES_MAX)).await;
            let late = || journal::Error::behind("the judgments", end.sequence);
            for entry in read.map_err(|_| late())?? {
                let judgment = match Judgment::read(entry.sequence, &entry.payload) {
                    Err(error @ journal::Error::Corrupt { .. }) => {
                        journal::metrics::unreadable("outcomes", "matcher", &error);
                        None
                    }
                    read => read?,
                };
                let Some(judgment) = judgment.filter(|it| it.sequence <= end.sequence) else {
                    continue;
                };
                let is_unsettled = judgment.sequence > settled;
                let mut deliveries = Vec::new();
                for fact in judgment.facts {
                    self.restore(state, &fact);
                    if is_unsettled {
                        known.extend(pair(&fact));
                        deliveries.extend(to_be_sent(fact));
                    }
                }
                state.appended(judgment.sequence, &judgment.judged);
                unsettled.push(Unsettled {
                    judgment: judgment.sequence,
                    deliveries,
                });
            }
        }
        state.last = end.sequence;
        state.settled = settled;
        if end.judged.is_partial {
            state.know(known);
        }
        self.queue_again(partition, unsettled).await?;
        if !end.judged.is_partial {
            state.settled = end.sequence;
            state.go_ahead();
        }
        state.is_unsettled = false;
        Ok(())
    }

    /// The pace of a rule goes on as it is on record, if the rule still counts as it did.
    fn restore(&self, state: &mut PartitionState, fact: &OutcomeRecord) {
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
                state.ended(it.rule, it.counts_since, &it.group);
                return;
            }
            OutcomeRecord::Matched(_)
            | OutcomeRecord::Attempted(_)
            | OutcomeRecord::Judged(_)
            | OutcomeRecord::StateChanged(_)
            | OutcomeRecord::Endpoint(_) => {
                return;
            }
        };
        let counts_since = paced.counts_since;
        let whose = Whose {
            org,
            rule,
            counts_since,
        };
        if let Some(rule) = self.rule(whose) {
            let Paced { message, at, .. } = *paced;
            let hit = Match { event, message, at };
            state.restore(&rule, &paced.groups, hit, fate);
        }
    }

    /// The bytes of events that were judged before, which stand in these messages.
    pub(super) async fn events_again(
        &self,
        partition: Partition,
        mut wanted: Vec<(u64, EventId)>,
    ) -> Result<HashMap<EventId, String>, journal::Error> {
        wanted.sort_unstable();
        let messages = wanted.chunk_by(|one, next| one.0 == next.0);
        let read = |wanted: &[(u64, EventId)]| {
            let (message, wanted) = (wanted[0].0, wanted.to_vec());
            async move {
                let payload = self.world.event_message(partition, message).await?;
                let payload = payload.as_ref().map_or(&[][..], AsRef::as_ref);
                let events = match record::events(payload) {
                    // For a matcher of that version: without its events what was decided would be lost.
                    Err(error @ journal::Error::Newer { .. }) => return Err(error),
                    events => events.unwrap_or_default(),
                };
                let is_wanted = |it: &EventRecord<'_>| wanted.contains(&(message, it.id));
                let found = events.into_iter().filter(is_wanted);
                let found = found.map(|it| (it.id, it.json.to_owned()));
                Ok::<Vec<(EventId, String)>, journal::Error>(found.collect())
            }
        };
        let reads: Vec<_> = messages.map(read).collect();
        let found = stream::iter(reads).buffer_unordered(READS_AT_ONCE);
        let found: Vec<Vec<(EventId, String)>> = found.try_collect().await?;
        let found: HashMap<EventId, String> = found.into_iter().flatten().collect();
        for (message, event) in wanted {
            if !found.contains_key(&event) {
                tracing::error!(event.id = %event, message, "an event that was judged is missing from the journal");
            }
        }
        Ok(found)
    }

    /// A rule that is enabled and counts as it did then.
    pub(super) fn rule(&self, whose: Whose) -> Option<Arc<Rule>> {
        let rules = self.world.rules_of(whose.org)?;
        let rule = rules.get(whose.rule)?;
        let is_it = rule.definition.enabled && rule.counts_since == whose.counts_since;
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
