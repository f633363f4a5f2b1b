//! Where deliveries stand, by the record: as `store::deliveries::state` reads it.

use std::collections::BTreeMap;

use domain::{DeliveryId, Timestamp, delivery::State};

/// What is put on record of a delivery.
#[derive(Clone, Copy, Debug)]
pub(super) enum Word {
    Attempt {
        number: u32,
        due_at: Timestamp,
    },
    Again {
        at: Timestamp,
    },
    /// `is_over`: it leaves the queue.
    Change {
        round_at: Timestamp,
        is_over: bool,
    },
    /// It is moved, and stands where it did.
    Moved,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct DeliveryState {
    pub(super) state: State,
    pub(super) attempts: u32,
    pub(super) round_at: Timestamp,
    round_from: u32,
    /// Nobody sends it any more, unless somebody asks for that.
    is_over: bool,
    /// The record says something of it.
    pub(super) is_on_record: bool,
}

#[derive(Debug, Default)]
pub(super) struct DeliveryStates(pub(super) BTreeMap<DeliveryId, DeliveryState>);

impl DeliveryStates {
    pub(super) fn begin(&mut self, delivery: DeliveryId, matched_at: Timestamp) {
        let standing = DeliveryState {
            state: State::Pending,
            attempts: 0,
            round_at: matched_at,
            round_from: 1,
            is_over: false,
            is_on_record: false,
        };
        self.0.entry(delivery).or_insert(standing);
    }

    pub(super) fn say(&mut self, delivery: DeliveryId, state: State, word: Word) {
        let Some(standing) = self.0.get_mut(&delivery) else {
            return;
        };
        standing.is_on_record = true;
        match word {
            Word::Moved => {}
            Word::Again { at } => {
                if standing.round_at < at {
                    standing.state = state;
                    standing.round_at = at;
                    standing.is_over = false;
                    standing.round_from = standing.attempts + 1;
                }
            }
            Word::Change { round_at, is_over } => {
                if standing.state != State::Delivered && round_at >= standing.round_at {
                    standing.state = state;
                    standing.is_over = is_over;
                }
            }
            Word::Attempt { number, due_at } => {
                let is_delivered = state == State::Delivered;
                let is_of_the_round =
                    due_at >= standing.round_at || (number >= standing.round_from && is_delivered);
                let is_next = number > standing.attempts;
                // What a repetition schedules was queued before it, and may have been held or ended since.
                let goes_on = matches!(standing.state, State::Pending | State::Scheduled);
                let is_repeated =
                    number == standing.attempts && (state != State::Scheduled || goes_on);
                let is_last = is_next || is_repeated || is_delivered;
                if standing.state != State::Delivered && is_of_the_round && is_last {
                    standing.attempts = standing.attempts.max(number);
                    // Whoever ended it did not know of this attempt, and nobody else will make the next.
                    if state != State::Scheduled || !standing.is_over {
                        standing.state = state;
                        standing.is_over = state != State::Scheduled;
                    }
                }
            }
        }
    }
}
