//! What people do: they resend, cancel, pause, resume, change and delete.

use domain::{
    DeliveryId, EndpointId,
    delivery::{State, Trigger},
};
use journal::cancellations::Voided;

use super::{
    state::Word,
    worker::Change,
    world::{RULES, TICK, URLS, World, rule, url},
};
use crate::snapshots::Target;

impl World {
    pub(super) fn somebody_acts(&mut self) {
        let deliveries: Vec<DeliveryId> = self.first.keys().copied().collect();
        if deliveries.is_empty() {
            return;
        }
        let delivery = self.dice.of(&deliveries);
        match self.dice.below(40u64) {
            0..12 => {
                let ended = [
                    State::Held,
                    State::Failed,
                    State::Delivered,
                    State::Canceled,
                ];
                if self.in_states(&ended).contains(&delivery) {
                    self.resend(delivery);
                }
            }
            12..20 => {
                if self
                    .in_states(&[State::Pending, State::Scheduled, State::Held])
                    .contains(&delivery)
                {
                    self.cancel(delivery);
                }
            }
            20..38 => {
                let ids: Vec<EndpointId> = self.endpoints.keys().copied().collect();
                let (id, now, pauses) = (self.dice.of(&ids), self.now, self.dice.one_in(2));
                self.tell(format!("pause {pauses} of {id}"));
                self.change_endpoint(id, |endpoint| {
                    if pauses {
                        endpoint.pause(now);
                    } else {
                        endpoint.resume();
                    }
                });
            }
            38 => {
                let number = usize::try_from(self.dice.below(RULES as u64)).expect("few");
                if self.rules[number] != Target::Gone {
                    let url = url(self.dice.below(URLS));
                    self.set_rule(number, Target::Url(url));
                }
            }
            // One is left, or nothing more would happen.
            _ => {
                let number = 1 + usize::try_from(self.dice.below(RULES as u64 - 1)).expect("few");
                if self.dice.one_in(4) {
                    self.set_rule(number, Target::Gone);
                }
            }
        }
    }

    fn set_rule(&mut self, number: usize, target: Target) {
        self.tell(format!("rule {number} goes to {target:?}"));
        self.changes
            .push(Change::Rule(rule(number), target.clone()));
        self.rules[number] = target;
    }

    pub(super) fn resend(&mut self, delivery: DeliveryId) {
        let (Some(url), Some(standing)) = (
            self.url_of(delivery),
            self.standings.0.get(&delivery).copied(),
        ) else {
            return;
        };
        let was = self.voided.get(&delivery).copied();
        let voided = Voided::superseded(was, self.now.max(standing.round_at.plus(TICK)));
        self.void(delivery, voided);
        let since = voided.until.plus(TICK);
        self.tell(format!("resend {delivery} in round {since}"));
        self.canceled.remove(&delivery);
        self.standings
            .say(delivery, State::Pending, Word::Again { at: since });
        let mut job = self.first[&delivery].clone();
        job.matched.url = url;
        job.attempt = standing.attempts + 1;
        job.trigger = Trigger::Resend;
        (job.since, job.due_at) = (since, since);
        let jobs = vec![job];
        self.queue_due(&jobs);
        self.queued.push((self.now, jobs));
    }

    fn cancel(&mut self, delivery: DeliveryId) {
        let round_at = self.standings.0[&delivery].round_at;
        let was = self.voided.get(&delivery).copied();
        let voided = Voided::canceled(was, self.now.max(round_at));
        self.tell(format!("cancel {delivery} up to {}", voided.until));
        self.void(delivery, voided);
        self.canceled.insert(delivery);
        let word = Word::Change {
            round_at: voided.until,
            is_over: true,
        };
        self.standings.say(delivery, State::Canceled, word);
    }

    fn void(&mut self, delivery: DeliveryId, voided: Voided) {
        self.voided.insert(delivery, voided);
        self.changes.push(Change::Void(delivery, voided));
    }
}
