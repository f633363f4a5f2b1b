//! Places at hosts: how many sends one organization, and all of them together, have in flight to a host.
//!
//! An endpoint is one URL, and a host can have any number of URLs: bounded by endpoint alone, five hundred
//! rules would be five hundred times as much for the same machine, and the rules of many organizations can
//! name a machine that belongs to none of them. Who finds no place is [called](Hosts::call) when there is one:
//! first come, first served, and an organization stands in the line of a host once however much it has to send.

use std::collections::{HashMap, HashSet, VecDeque};

use sha2::{Digest, Sha256};

use crate::OrgId;

/// All organizations together have so many times the places of one at a host: many customers may use the
/// same service, and should not wait for each other before it is a crowd.
const ORGS_AT_THEIR_BOUND: u32 = 4;

/// A host and its port, whichever URLs name it. A digest, so that a long name costs no more than a short one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host([u8; 16]);

impl Host {
    /// The host of this name and port, such as `example.com:443`.
    pub fn named(authority: &str) -> Self {
        let digest = Sha256::digest(authority.as_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Self(bytes)
    }
}

/// Who has how many places where. A host at which nobody has one is forgotten.
#[derive(Debug)]
pub struct Hosts {
    per_org: u32,
    busy: HashMap<Host, Busy>,
}

#[derive(Debug, Default)]
struct Busy {
    in_flight: u32,
    of: HashMap<OrgId, u32>,
    /// Those who asked for more than one organization may have: called when one of theirs ends.
    at_their_bound: HashSet<OrgId>,
    /// Those who wait for anybody's send to end.
    line: VecDeque<OrgId>,
}

impl Hosts {
    /// With so many places for one organization at a host.
    pub fn new(per_org: u32) -> Self {
        Self {
            per_org: per_org.max(1),
            busy: HashMap::new(),
        }
    }

    /// Takes a place for one send, if there is one. If there is none, the organization waits to be called,
    /// and must not ask again before it is.
    pub fn take(&mut self, org: OrgId, host: Host) -> bool {
        let (per_org, in_all) = (self.per_org, self.in_all());
        let busy = self.busy.entry(host).or_default();
        let own = busy.of.get(&org).copied().unwrap_or(0);
        if own >= per_org {
            busy.at_their_bound.insert(org);
            return false;
        }
        if busy.in_flight >= in_all {
            busy.line.push_back(org);
            return false;
        }
        busy.in_flight += 1;
        busy.of.insert(org, own + 1);
        true
    }

    /// A send has ended. Whoever waits is to be called.
    pub fn give_back(&mut self, org: OrgId, host: Host) {
        let Some(busy) = self.busy.get_mut(&host) else {
            return;
        };
        busy.in_flight = busy.in_flight.saturating_sub(1);
        match busy.of.get(&org).copied().unwrap_or(0) {
            0 | 1 => busy.of.remove(&org),
            own => busy.of.insert(org, own - 1),
        };
        // Behind those who wait already: they had less than their share.
        if busy.at_their_bound.remove(&org) {
            busy.line.push_back(org);
        }
        self.forget_if_idle(host);
    }

    /// How many places nobody has.
    pub fn free(&self, host: Host) -> u32 {
        let in_flight = self.busy.get(&host).map_or(0, |busy| busy.in_flight);
        self.in_all().saturating_sub(in_flight)
    }

    /// The organization that has waited longest for a place, which may ask again now.
    pub fn call(&mut self, host: Host) -> Option<OrgId> {
        let called = self.busy.get_mut(&host)?.line.pop_front();
        self.forget_if_idle(host);
        called
    }

    fn in_all(&self) -> u32 {
        self.per_org.saturating_mul(ORGS_AT_THEIR_BOUND)
    }

    fn forget_if_idle(&mut self, host: Host) {
        let is_idle = |busy: &Busy| busy.in_flight == 0 && busy.line.is_empty();
        if self.busy.get(&host).is_some_and(is_idle) {
            self.busy.remove(&host);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn org(number: u128) -> OrgId {
        OrgId::from_uuid(Uuid::from_u128(number))
    }

    #[test]
    fn an_organization_has_its_places_and_another_has_its_own() {
        let (mut hosts, host) = (Hosts::new(2), Host::named("example.com:443"));
        assert!(hosts.take(org(1), host) && hosts.take(org(1), host));
        assert!(!hosts.take(org(1), host), "two at a time");
        assert!(hosts.take(org(2), host), "another organization");
        assert!(hosts.take(org(1), Host::named("example.com:8443")));
        assert_eq!(hosts.call(host), None, "nothing has ended");
        hosts.give_back(org(2), host);
        assert_eq!(hosts.call(host), None, "nothing of its own has ended");
        hosts.give_back(org(1), host);
        assert_eq!(hosts.call(host), Some(org(1)));
        assert!(hosts.take(org(1), host));
    }

    #[test]
    fn all_together_have_four_times_as_many_and_who_waits_longest_is_called_first() {
        let (mut hosts, host) = (Hosts::new(1), Host::named("example.com:443"));
        for number in 1..=4 {
            assert!(hosts.take(org(number), host));
        }
        assert_eq!(hosts.free(host), 0);
        assert!(!hosts.take(org(5), host) && !hosts.take(org(6), host));
        // It has had its turn, so it stands behind those who had none.
        assert!(!hosts.take(org(1), host));
        hosts.give_back(org(1), host);
        assert_eq!(hosts.free(host), 1);
        let called: Vec<_> = std::iter::from_fn(|| hosts.call(host)).collect();
        assert_eq!(called, [org(5), org(6), org(1)]);
    }

    #[test]
    fn nothing_is_remembered_of_a_host_that_is_idle() {
        let (mut hosts, host) = (Hosts::new(1), Host::named("example.com:443"));
        assert!(hosts.take(org(1), host) && !hosts.take(org(1), host));
        hosts.give_back(org(1), host);
        assert_eq!(hosts.call(host), Some(org(1)));
        assert!(hosts.busy.is_empty());
    }
}
