//! How many may wait for people, and room that was promised to decisions which are being recorded: they count before
//! they are opened.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use domain::{DecisionId, KeyId, OrgId, Timestamp};

/// How many of an organization may be pending: more than people can look at. Beyond it what would be escalated
/// is denied, and says so. Counted by each node as far as it has heard, so a burst on several may pass it by a few.
pub(super) const PENDING_PER_ORG_MAX: usize = 1_000;
/// How many of one API key may be pending: a tenth, so that no key takes the place of the others.
pub(super) const PENDING_PER_KEY_MAX: usize = 100;
/// How many are held, of all organizations: some 100 MB. The same happens beyond it.
pub(super) const HELD_MAX: usize = 100_000;
/// What was not opened by then will not be: its request has run out, or its decision could not be recorded.
const KEPT: Duration = Duration::from_secs(30);

/// When room was promised to whom, oldest first.
#[derive(Default)]
pub(super) struct Promised {
    of: HashMap<OrgId, VecDeque<Promise>>,
    count: usize,
}

#[derive(Clone, Copy)]
struct Promise {
    at: Timestamp,
    id: DecisionId,
    /// The key that asked.
    key: Option<KeyId>,
}

impl Promised {
    /// How many of an organization will be opened yet.
    pub(super) fn to(&mut self, org: OrgId, now: Timestamp) -> usize {
        while let Some(Promise { at, id, .. }) =
            self.of.get(&org).and_then(VecDeque::front).copied()
            && at.plus(KEPT) <= now
        {
            self.end(org, id);
        }
        self.of.get(&org).map_or(0, VecDeque::len)
    }

    /// How many of them were asked for by a key, or a few more.
    pub(super) fn to_key(&self, org: OrgId, key: Option<KeyId>) -> usize {
        let promised = self.of.get(&org).into_iter().flatten();
        promised.filter(|promise| promise.key == key).count()
    }

    /// How many of all will be opened yet, or a few more.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn promise(
        &mut self,
        org: OrgId,
        key: Option<KeyId>,
        id: DecisionId,
        now: Timestamp,
    ) {
        let promise = Promise { at: now, id, key };
        self.of.entry(org).or_default().push_back(promise);
        self.count += 1;
    }

    /// One was opened, or will not be. Promises end about in the order they were made.
    pub(super) fn end(&mut self, org: OrgId, id: DecisionId) {
        let Some(promised) = self.of.get_mut(&org) else {
            return;
        };
        let place = promised.iter().position(|promise| promise.id == id);
        self.count -= usize::from(place.and_then(|place| promised.remove(place)).is_some());
        if promised.is_empty() {
            self.of.remove(&org);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_is_promised_counts_until_it_is_opened_or_too_old() {
        let at = |seconds: i64| Timestamp::from_unix_millis(1_000 * seconds);
        let org = |number| OrgId::from_uuid(Uuid::from_u128(number));
        let id = |number| DecisionId::from_uuid(Uuid::from_u128(number));
        let mut promised = Promised::default();
        let key = |number| Some(KeyId::from_uuid(Uuid::from_u128(number)));
        for (number, second) in [(1, 0), (2, 1), (3, 2)] {
            promised.promise(org(1), key(number % 2), id(number), at(second));
        }
        assert_eq!(promised.to(org(1), at(2)), 3);
        assert_eq!(promised.to_key(org(1), key(1)), 2);
        assert_eq!(promised.to_key(org(2), key(1)), 0);
        assert_eq!(promised.to(org(2), at(2)), 0);
        promised.end(org(1), id(2));
        promised.end(org(1), id(2));
        promised.end(org(2), id(1));
        assert_eq!((promised.to(org(1), at(2)), promised.len()), (2, 2));
        assert_eq!(promised.to(org(1), at(30)), 1);
        assert_eq!(promised.to(org(1), at(32)), 0);
        assert_eq!((promised.len(), promised.of.len()), (0, 0));
    }
}
