//! What must be so, whatever goes wrong. Each is looked at where it could first be seen to be otherwise.
//!
//! The record is compared with what one matcher would have come to that never died: it is told the same events, one by
//! one, with the rules by which they were judged, and the ends of periods that a clock decided on.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    mem,
    time::Duration,
};

use domain::{
    DeliveryId, EventId, RuleId, Timestamp,
    delivery::{Cause, State},
    event::EventView,
    rule::{
        Rule,
        throttle::{self, Fate, Group, Groups, Match, Pace, Room},
    },
};
use journal::{
    match_log::Judgment,
    record::{Ended, Job, Matched, OutcomeRecord, Paced, Position},
};

use super::{
    journal::Journal,
    stories::{Event, Rules},
};
use crate::judge::{Pair, state_of_alert};

/// How far any clock, or time of an event that is believed, may be ahead of the journal's.
const AHEAD_MAX: Duration = Duration::from_secs(8);

#[derive(Default)]
pub(super) struct Checks {
    /// What is judged, by the record.
    position: Position,
    /// The place of the match that was put on record last.
    place: Position,
    pairs: HashSet<Pair>,
    paces: HashMap<Counting, Pace>,
    periods: HashMap<(Counting, Group), Period>,
    /// The deliveries that are to be sent, by the record.
    decided: HashSet<DeliveryId>,
    /// Those that are not queued, by their judgments.
    unqueued: BTreeMap<u64, HashSet<DeliveryId>>,
    /// What is in a message of the queue, by its name.
    names: HashMap<String, Vec<Attempt>>,
    attempts: HashSet<Attempt>,
    /// When the first round of a delivery began.
    rounds: HashMap<DeliveryId, Timestamp>,
    /// Where it is on record that a delivery was sent.
    sent: HashMap<DeliveryId, Vec<u64>>,
    looks: HashMap<usize, Look>,
}

/// By which version of the rules somebody judged a message.
pub(super) type JudgedBy = HashMap<u64, usize>;
/// A rule, and since when it counts as it does.
type Counting = (RuleId, u32);
/// A delivery, the number of the attempt, and the begin of its round.
type Attempt = (DeliveryId, u32, Timestamp);

/// A period of suppression, as it should be.
struct Period {
    ends_at: Timestamp,
    kept_back: u32,
    last: Option<(u64, EventId)>,
}

/// What a matcher could see when it last looked what is on record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Look {
    outcomes: u64,
}

/// A matcher asks for the end of the outcome log.
pub(super) fn looks_at_outcomes(journal: &mut Journal, who: usize) {
    let look = Look {
        outcomes: journal.outcomes.len() as u64,
    };
    journal.checks.looks.insert(who, look);
}

/// A judgment is on record.
pub(super) fn judgment(journal: &mut Journal, by: &JudgedBy, sequence: u64) {
    let payload = &journal.outcome(sequence).payload;
    let judgment = Judgment::read(sequence, payload).expect("readable");
    let judgment = judgment.expect("a judgment");
    let mut checks = mem::take(&mut journal.checks);
    checks.judgment(journal, by, &judgment);
    journal.checks = checks;
}

/// A message arrives at the queue, which may know it.
pub(super) fn queued(journal: &mut Journal, look: Look, name: &str, jobs: &[Job], is_known: bool) {
    let checks = &mut journal.checks;
    let attempt = |job: &Job| (job.matched.delivery, job.attempt, job.since);
    let attempts: Vec<Attempt> = jobs.iter().map(attempt).collect();
    for attempt in &attempts {
        let delivery = attempt.0;
        assert!(
            checks.decided.contains(&delivery),
            "{delivery} is queued, and it is not on record that it should be"
        );
        let first = *checks.rounds.entry(delivery).or_insert(attempt.2);
        let sent = checks.sent.get(&delivery);
        let is_seen = |sent: &Vec<u64>| sent.iter().any(|sent| *sent <= look.outcomes);
        assert!(
            attempt.2 == first || !sent.is_some_and(is_seen),
            "{delivery} begins another round, and it was on record that it was sent"
        );
        let is_new = is_known || checks.attempts.insert(*attempt);
        assert!(
            is_new,
            "{attempt:?} is queued twice, now as a part of {name}"
        );
        for deliveries in checks.unqueued.values_mut() {
            deliveries.remove(&delivery);
        }
    }
    checks
        .unqueued
        .retain(|_, deliveries| !deliveries.is_empty());
    let before = checks.names.entry(name.to_owned());
    let before = before.or_insert_with(|| attempts.clone());
    assert_eq!(*before, attempts, "{name} is the name of two messages");
}

impl Checks {
    /// The message up to which all is judged, by the record.
    pub(super) fn judged(&self) -> u64 {
        self.position.sequence
    }

    pub(super) fn look_of(&self, who: usize) -> Look {
        self.looks.get(&who).copied().unwrap_or_default()
    }

    pub(super) fn sent(&mut self, delivery: DeliveryId, sequence: u64) {
        self.sent.entry(delivery).or_default().push(sequence);
    }

    /// Everybody has done what there was to do.
    pub(super) fn at_the_end(&self, events: u64) {
        assert_eq!(self.position.sequence, events, "not everything is judged");
        let is_sent = |delivery: &&DeliveryId| self.sent.contains_key(*delivery);
        let lost = self.decided.iter().find(|delivery| !is_sent(delivery));
        assert_eq!(lost, None, "decided on, and never sent");
    }

    fn judgment(&mut self, journal: &Journal, by: &JudgedBy, judgment: &Judgment) {
        let judged = &judgment.judged;
        assert!(
            judged.position >= self.position,
            "what is judged is judged again"
        );
        let mut ended: Vec<&Ended> = Vec::new();
        for fact in &judgment.facts {
            let (pair, paced, state) = match fact {
                OutcomeRecord::Ended(it) => {
                    ended.push(it);
                    continue;
                }
                OutcomeRecord::Counted(it) => ((it.event, it.rule), &it.paced, None),
                OutcomeRecord::Alerted(it) => {
                    let pair = (it.matched.event, it.matched.rule);
                    (pair, &it.paced, Some(it.state))
                }
                other => panic!("not a matcher's to say: {other:?}"),
            };
            let (event, place) = self.find(journal, pair.0, paced.message);
            let is_within =
                place < judged.position || judged.is_partial && place == judged.position;
            assert!(is_within, "{event:?} is judged before its time");
            let rules = rules(journal, by, paced.message);
            let rule = rules.set.get(pair.1).expect("a rule of its time");
            self.matched(journal, rule, &event, (paced, state), mem::take(&mut ended));
        }
        // No match ended them: a clock did.
        for ended in ended {
            self.ended(ended);
            let pace = self.paces.get_mut(&(ended.rule, ended.counts_since));
            pace.expect("a rule that kept something back")
                .ended(&ended.group);
        }
        self.passed(journal, by, judged.position);
        let to_be_sent = judgment.facts.iter().filter_map(to_be_sent);
        for delivery in to_be_sent.map(|matched| matched.delivery) {
            assert!(
                self.decided.insert(delivery),
                "{delivery} is decided on twice"
            );
            let unqueued = self.unqueued.entry(judgment.sequence).or_default();
            unqueued.insert(delivery);
        }
        let forgotten = self.unqueued.range(..=judged.settled).next();
        assert_eq!(
            forgotten, None,
            "said to be queued up to {}",
            judged.settled
        );
    }

    /// An event that is put on record, and its place: not before that of the last one.
    fn find(&mut self, journal: &Journal, id: EventId, message: u64) -> (Event, Position) {
        let events = &journal.event_message(message).events;
        let mut places = (0u32..).zip(events);
        let found = places.find(|(_, event)| event.id == id);
        let (records, event) = found.expect("an event of the message");
        let place = Position {
            sequence: message - 1,
            records,
        };
        assert!(place >= self.position, "{id} was judged before");
        assert!(
            place >= self.place,
            "{id} is judged after one that comes after it"
        );
        self.place = place;
        (event.clone(), place)
    }

    /// A match is on record: it is the first of the event and the rule, and comes to what it should.
    fn matched(
        &mut self,
        journal: &Journal,
        rule: &Rule,
        event: &Event,
        (paced, state): (&Paced, Option<State>),
        ended: Vec<&Ended>,
    ) {
        let pair = (event.id, rule.id);
        assert!(self.pairs.insert(pair), "{pair:?} is on record twice");
        let view = EventView::parse(&event.json).expect("an event");
        let groups = Groups::of(&rule.definition, &view);
        assert!(rule.definition.enabled && rule.definition.matches(&view));
        assert_eq!(
            (paced.counts_since, &paced.groups),
            (rule.counts_since, &groups)
        );
        // A time that is far ahead is not believed.
        let accepted_at = journal.event_message(paced.message).accepted_at;
        let is_believed = event.received_at <= accepted_at.plus(Duration::from_secs(5));
        assert!(paced.at >= event.received_at || !is_believed);
        let hit = Match {
            event: event.id,
            message: paced.message,
            at: event.received_at.min(paced.at),
        };
        let counting = (rule.id, rule.counts_since);
        let period = groups.suppress.clone().map(|group| (counting, group));
        if state.is_some_and(|state| state != State::Suppressed)
            && let Some(period) = &period
        {
            self.end_if_over(period, journal.now);
        }
        let (fate, at, by_match) = if rule.definition.has_pace() {
            let pace = self.paces.entry(counting).or_default();
            let step = pace.step(&rule.definition, &groups, hit, Room::MOST);
            (step.fate, step.hit.at, step.ended)
        } else {
            (Fate::Alert, hit.at, Vec::new())
        };
        let expected = match fate {
            Fate::Counted => None,
            Fate::Suppressed => Some(State::Suppressed),
            Fate::Alert => Some(state_of_alert(rule, at)),
        };
        assert_eq!(state, expected, "what becomes of {pair:?}");
        assert_eq!((paced.at, paced.overflowed), (at, false), "of {pair:?}");
        let groups = |ended: &throttle::Ended| ended.group.clone();
        let by_match: Vec<Group> = by_match.iter().map(groups).collect();
        let on_record: Vec<Group> = ended.iter().map(|ended| ended.group.clone()).collect();
        assert_eq!(on_record, by_match, "the periods that {pair:?} ended");
        for ended in ended {
            self.ended(ended);
        }
        let (Some(period), Some(suppress)) = (period, &rule.definition.suppress) else {
            return;
        };
        match fate {
            Fate::Counted => {}
            Fate::Suppressed => {
                let period = self.periods.get_mut(&period).expect("it is open");
                period.kept_back += 1;
                period.last = Some((hit.message, hit.event));
            }
            Fate::Alert => {
                let opened = Period {
                    ends_at: at.plus(Duration::from_secs(suppress.for_s.into())),
                    kept_back: 0,
                    last: None,
                };
                self.periods.insert(period, opened);
            }
        }
    }

    /// A period that kept nothing back ends without a word, so a match that comes late finds it open or not.
    fn end_if_over(&mut self, of: &(Counting, Group), now: Timestamp) {
        let is_over = |period: &Period| {
            period.kept_back == 0 && period.ends_at.plus(crate::END_AFTER) <= now.plus(AHEAD_MAX)
        };
        if self.periods.get(of).is_some_and(is_over)
            && let Some(pace) = self.paces.get_mut(&of.0)
        {
            pace.ended(&of.1);
        }
    }

    /// A period is on record as ended: it kept something back, and the summary says how much.
    fn ended(&mut self, ended: &Ended) {
        let counting = (ended.rule, ended.counts_since);
        let of = (counting, ended.group.clone());
        let period = self.periods.remove(&of).expect("a period ends once");
        let (message, event) = period
            .last
            .expect("one that kept nothing back ends silently");
        assert_eq!(ended.message, message);
        if let Some(summary) = &ended.summary {
            let suppressed = period.kept_back;
            assert_eq!(
                (summary.event, summary.cause),
                (event, Cause::Summary { suppressed })
            );
        }
    }

    /// The record says that everything before a place is judged: whatever matches is on record.
    fn passed(&mut self, journal: &Journal, by: &JudgedBy, to: Position) {
        while self.position < to {
            let message = self.position.sequence + 1;
            let events = &journal.event_message(message).events;
            let place = self.position.records as usize;
            let Some(event) = events.get(place) else {
                self.position = Position {
                    sequence: message,
                    records: 0,
                };
                continue;
            };
            self.position.records += 1;
            let is_same = |before: &Event| before.id == event.id;
            if events[..place].iter().any(is_same) {
                continue;
            }
            let view = EventView::parse(&event.json).expect("an event");
            let rules = rules(journal, by, message);
            for rule in rules.all.iter().filter(|rule| rule.definition.enabled) {
                let pair = (event.id, rule.id);
                if self.pairs.contains(&pair) || !rule.definition.matches(&view) {
                    continue;
                }
                let mark = journal.marks.get(&DeliveryId::of(event.id, rule.id));
                let is_of_another = mark.is_some_and(|mark| mark.sequence != message);
                assert!(
                    is_of_another,
                    "{pair:?} of message {message} is not on record"
                );
            }
        }
    }
}

fn to_be_sent(fact: &OutcomeRecord) -> Option<&Matched> {
    match fact {
        OutcomeRecord::Alerted(alerted) if alerted.state == State::Pending => {
            Some(&alerted.matched)
        }
        OutcomeRecord::Ended(ended) => ended.summary.as_ref(),
        _ => None,
    }
}

/// The rules by which a message was judged: those of its time, or later ones.
fn rules<'j>(journal: &'j Journal, by: &JudgedBy, message: u64) -> &'j Rules {
    let version = by.get(&message);
    let version = *version.expect("whoever goes past a message has judged it");
    let in_force = journal.event_message(message).rules;
    assert!(
        version >= in_force,
        "{message} is judged by rules that are out of date"
    );
    &journal.rules[version]
}
