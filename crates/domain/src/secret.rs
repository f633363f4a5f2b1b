//! The life of an organization's signing secrets: staged, current, previous, dropped.
//!
//! A secret is staged first, so that the receiver can be given it; then it is promoted, and the one before it
//! goes on signing beside it for an overlap. At most one secret is in each state, dropped ones aside. While
//! an organization has no current secret of its own, the deployment's is used.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    SecretId, Timestamp,
    id::{Tail, derived},
};

/// The `event_type` of the event that says that a secret was staged, promoted or dropped.
pub const EVENT_TYPE: &str = "signing_secret_change";

/// How long the secret before goes on, unless asked otherwise: a day to change it everywhere.
pub const OVERLAP_DEFAULT: Duration = Duration::from_hours(24);
/// A week: who has not changed over by then has forgotten it, and an old secret is a risk.
pub const OVERLAP_MAX: Duration = Duration::from_hours(7 * 24);

/// One secret's times; its text is elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    pub id: SecretId,
    pub created_at: Timestamp,
    /// When it became the one that signs.
    pub promoted_at: Option<Timestamp>,
    /// Since when, or from when on, nothing is signed with it.
    pub ends_at: Option<Timestamp>,
    /// Until when the deployment's secret goes on beside it: of an organization's first, and of one that
    /// followed it at once.
    pub deployment_ends_at: Option<Timestamp>,
}

/// Where a secret is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The receiver is being given it.
    Staged,
    /// It makes the main signature.
    Current,
    /// It signs beside the current one until its overlap is over.
    Previous,
    /// Nothing is signed with it.
    Dropped,
}

/// Why a change was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    NoSuchSecret,
    /// This one is staged already.
    Staged(SecretId),
    /// It is not staged, but this.
    NotStaged(State),
    /// The overlap of an earlier promotion is not over; without an id it is the deployment's secret that
    /// still signs.
    Overlapping {
        id: Option<SecretId>,
        until: Timestamp,
    },
    /// It is the one that signs.
    Current,
}

/// What was done to a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Staged,
    Promoted,
    Dropped,
}

/// The secrets of one organization.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets(pub Vec<Secret>);

impl Secret {
    pub fn state(&self, now: Timestamp) -> State {
        match (self.promoted_at, self.ends_at) {
            (_, Some(end)) if end <= now => State::Dropped,
            (None, _) => State::Staged,
            (Some(_), None) => State::Current,
            (Some(_), Some(_)) => State::Previous,
        }
    }
}

impl Secrets {
    pub fn in_state(&self, state: State, now: Timestamp) -> Option<&Secret> {
        self.0.iter().find(|secret| secret.state(now) == state)
    }

    /// Until when the deployment's secret signs beside the current one; `None` if it does not.
    pub fn deployment_until(&self, now: Timestamp) -> Option<Timestamp> {
        let ends = self.0.iter().filter_map(|secret| secret.deployment_ends_at);
        ends.max().filter(|end| *end > now)
    }

    /// A new secret, to be made known to the receiver before it is promoted. Its id sorts behind those of
    /// the others, whatever the clocks of two nodes say, so that of two secrets the newer can be told.
    pub fn stage(&self, now: Timestamp, random: [u8; 10]) -> Result<Secret, Refused> {
        if let Some(staged) = self.in_state(State::Staged, now) {
            return Err(Refused::Staged(staged.id));
        }
        let newest = self.0.iter().map(|secret| secret.created_at).max();
        let after_all = newest.map(|newest| newest.plus(Duration::from_millis(1)));
        let created_at = after_all.map_or(now, |after_all| after_all.max(now));
        Ok(Secret {
            id: SecretId::new(created_at, random),
            created_at,
            promoted_at: None,
            ends_at: None,
            deployment_ends_at: None,
        })
    }

    /// The secrets as they are when `id` is the current one; only those that change, so none if it is already.
    /// The deployment's goes on beside a first one if there is one (`has_deployment`).
    pub fn promote(
        &self,
        id: SecretId,
        overlap: Duration,
        has_deployment: bool,
        now: Timestamp,
    ) -> Result<Vec<Secret>, Refused> {
        let secret = self.find(id)?;
        match secret.state(now) {
            State::Staged => {}
            State::Current => return Ok(Vec::new()),
            state => return Err(Refused::NotStaged(state)),
        }
        // Two cannot go on beside a third. One that ends the current secret at once makes no second.
        if overlap > Duration::ZERO {
            self.check_that_nothing_overlaps(now)?;
        }
        let ends_at = Some(now.plus(overlap));
        let current = self.in_state(State::Current, now);
        let promoted = Secret {
            promoted_at: Some(now),
            // The current one always says so: the others are forgotten first.
            deployment_ends_at: match current {
                None => ends_at.filter(|_| has_deployment),
                Some(_) => self.deployment_until(now),
            },
            ..*secret
        };
        let ended = current.map(|current| Secret {
            ends_at,
            ..*current
        });
        Ok([Some(promoted), ended].into_iter().flatten().collect())
    }

    /// The secret without its use; `None` if it has none already.
    pub fn drop(&self, id: SecretId, now: Timestamp) -> Result<Option<Secret>, Refused> {
        let secret = self.find(id)?;
        match secret.state(now) {
            State::Current => Err(Refused::Current),
            State::Dropped => Ok(None),
            State::Staged | State::Previous => Ok(Some(Secret {
                ends_at: Some(now),
                ..*secret
            })),
        }
    }

    fn check_that_nothing_overlaps(&self, now: Timestamp) -> Result<(), Refused> {
        let previous = self.in_state(State::Previous, now);
        let own = previous.and_then(|previous| Some((Some(previous.id), previous.ends_at?)));
        let deployment = self.deployment_until(now).map(|until| (None, until));
        match own.or(deployment) {
            Some((id, until)) => Err(Refused::Overlapping { id, until }),
            None => Ok(()),
        }
    }

    fn find(&self, id: SecretId) -> Result<&Secret, Refused> {
        let mut all = self.0.iter();
        all.find(|secret| secret.id == id)
            .ok_or(Refused::NoSuchSecret)
    }
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::Current => "current",
            Self::Previous => "previous",
            Self::Dropped => "dropped",
        }
    }
}

impl What {
    pub const ALL: [Self; 3] = [Self::Staged, Self::Promoted, Self::Dropped];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::Promoted => "promoted",
            Self::Dropped => "dropped",
        }
    }

    /// The `action` of the audit event.
    pub fn action(self) -> &'static str {
        match self {
            Self::Staged => "signing_secrets.stage",
            Self::Promoted => "signing_secrets.promote",
            Self::Dropped => "signing_secrets.drop",
        }
    }
}

/// What makes the id of the event that says what was done to the secret, beside its time. Each is done to a
/// secret once, so recorded again it is the same event.
pub fn event_tail(secret: SecretId, what: What) -> Tail {
    Tail::Derived(derived(secret.uuid().as_bytes(), what.as_str().as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_unix_millis(1_794_735_000_000).plus(Duration::from_secs(seconds))
    }

    const HOUR: Duration = Duration::from_hours(1);

    fn put(secrets: &mut Secrets, changed: impl IntoIterator<Item = Secret>) {
        for secret in changed {
            match secrets.0.iter_mut().find(|one| one.id == secret.id) {
                Some(one) => *one = secret,
                None => secrets.0.push(secret),
            }
        }
    }

    #[test]
    fn a_first_secret_is_staged_promoted_and_the_deployments_goes_on_for_the_overlap() {
        let mut secrets = Secrets::default();
        let staged = secrets.stage(at(0), [1; 10]).expect("staged");
        put(&mut secrets, [staged]);
        assert_eq!(
            secrets.stage(at(1), [2; 10]),
            Err(Refused::Staged(staged.id))
        );
        let promoted = secrets.promote(staged.id, HOUR, true, at(2));
        put(&mut secrets, promoted.expect("promoted"));
        assert_eq!(secrets.0[0].state(at(2)), State::Current);
        assert_eq!(secrets.deployment_until(at(2)), Some(at(3_602)));
        assert_eq!(secrets.deployment_until(at(3_602)), None);
        assert_eq!(secrets.promote(staged.id, HOUR, true, at(3)), Ok(vec![]));
        assert_eq!(secrets.drop(staged.id, at(3)), Err(Refused::Current));
        let second = secrets.stage(at(4), [2; 10]).expect("staged");
        put(&mut secrets, [second]);
        let promoted = secrets.promote(second.id, Duration::ZERO, true, at(5));
        put(&mut secrets, promoted.expect("promoted"));
        secrets.0.retain(|one| one.state(at(5)) != State::Dropped);
        assert_eq!(secrets.deployment_until(at(5)), Some(at(3_602)));
    }

    #[test]
    fn where_the_deployment_has_no_secret_a_first_one_overlaps_with_nothing() {
        let mut secrets = Secrets::default();
        for (second, byte) in [(0, 1), (10, 2)] {
            let staged = secrets.stage(at(second), [byte; 10]).expect("staged");
            put(&mut secrets, [staged]);
            let promoted = secrets.promote(staged.id, HOUR, false, at(second + 1));
            put(&mut secrets, promoted.expect("promoted"));
            assert_eq!(secrets.deployment_until(at(second + 1)), None);
        }
    }

    #[test]
    fn nothing_is_promoted_while_an_overlap_lasts() {
        let mut secrets = Secrets::default();
        for (second, overlap) in [(0, Duration::ZERO), (10, HOUR)] {
            let staged = secrets.stage(at(second), [3; 10]).expect("staged");
            put(&mut secrets, [staged]);
            let changed = secrets.promote(staged.id, overlap, true, at(second + 1));
            put(&mut secrets, changed.expect("promoted"));
        }
        let staged = secrets.stage(at(20), [4; 10]).expect("staged");
        put(&mut secrets, [staged]);
        let first = secrets.0[0].id;
        let refused = Refused::Overlapping {
            id: Some(first),
            until: at(11 + 3_600),
        };
        assert_eq!(secrets.promote(staged.id, HOUR, true, at(21)), Err(refused));
        let at_once = secrets.promote(staged.id, Duration::ZERO, true, at(21));
        assert_eq!(at_once.map(|changed| changed[1].ends_at), Ok(Some(at(21))));
        let dropped = secrets.drop(first, at(22)).expect("dropped");
        put(&mut secrets, dropped);
        assert!(secrets.promote(staged.id, HOUR, true, at(23)).is_ok());
        assert_eq!(secrets.drop(first, at(24)), Ok(None));
    }

    proptest! {
        /// Whatever is asked, there is at most one secret in each state, a current one stays until it is
        /// replaced, and the order of ids is staged, current, previous.
        #[test]
        fn there_is_at_most_one_of_each(steps in prop::collection::vec((0u8..3, 0u64..7_200, 0usize..8, 0u64..7_200), 1..60)) {
            let (mut secrets, mut second) = (Secrets::default(), 0);
            for (number, (what, wait, place, overlap)) in steps.into_iter().enumerate() {
                second += wait;
                let now = at(second);
                let had_current = secrets.in_state(State::Current, now).is_some();
                let id = secrets.0.get(place).map(|secret| secret.id);
                let changed = match (what, id) {
                    (0, _) | (_, None) => {
                        let byte = u8::try_from(number).unwrap_or(0);
                        secrets.stage(now, [byte; 10]).map(|staged| vec![staged])
                    }
                    (1, Some(id)) => secrets.promote(id, Duration::from_secs(overlap), true, now),
                    (_, Some(id)) => secrets.drop(id, now).map(Vec::from_iter),
                };
                put(&mut secrets, changed.unwrap_or_default());
                let all = |state| secrets.0.iter().filter(move |one| one.state(now) == state);
                for state in [State::Staged, State::Current, State::Previous] {
                    prop_assert!(all(state).count() <= 1, "{state:?} in {secrets:?}");
                }
                prop_assert!(!had_current || all(State::Current).count() == 1);
                let live: Vec<_> = [State::Staged, State::Current, State::Previous]
                    .into_iter()
                    .filter_map(|state| secrets.in_state(state, now).map(|one| one.id))
                    .collect();
                prop_assert!(live.is_sorted_by(|newer, older| newer > older));
            }
        }
    }
}
