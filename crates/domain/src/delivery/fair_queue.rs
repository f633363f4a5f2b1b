//! A rota: whose turn it is among all that could be sent now.
//!
//! Round robin over the organizations, then over the hosts that each one sends to, then over its endpoints
//! there, then what was never tried before what is tried again: nobody gets more by having more endpoints
//! or more waiting. Who has waited longest for a turn is next; who comes, or comes back, stands at the end.
//! Who is blocked, an endpoint or all of an organization's at one host, stands nowhere, so that finding the
//! next costs the same however many are blocked.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use super::host_limits::Host;
use crate::{EndpointId, OrgId};

/// What waits to be sent, in fair order.
#[derive(Debug)]
pub struct FairQueue<T> {
    /// Endpoints for which something waits.
    queues: HashMap<EndpointId, Queue<T>>,
    /// The endpoints at each host that are not blocked and for which something waits.
    crowds: HashMap<(OrgId, Host), Waiting<EndpointId>>,
    /// Organizations that have such a host, and those of their hosts that are not blocked.
    orgs: HashMap<OrgId, Waiting<Host>>,
    line: Line<OrgId>,
    blocked: HashSet<EndpointId>,
    blocked_hosts: HashSet<(OrgId, Host)>,
    turns: u64,
    len: usize,
}

/// Whether a delivery was tried before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    First,
    Retry,
}

#[derive(Debug)]
struct Queue<T> {
    org: OrgId,
    host: Host,
    /// Its place in the line; `None`: blocked.
    turn: Option<u64>,
    firsts: VecDeque<T>,
    retries: VecDeque<T>,
}

/// Somebody's turn, and the line of those who share it.
#[derive(Debug)]
struct Waiting<K> {
    turn: u64,
    line: Line<K>,
}

/// Those who wait for their turn. Those who have a first attempt waiting stand in two lines, so that
/// they are found at once when no retry may be sent.
#[derive(Debug)]
struct Line<K> {
    all: BTreeSet<(u64, K)>,
    with_firsts: BTreeSet<(u64, K)>,
}

impl<T> FairQueue<T> {
    pub fn new() -> Self {
        Self {
            queues: HashMap::new(),
            crowds: HashMap::new(),
            orgs: HashMap::new(),
            line: Line::new(),
            blocked: HashSet::new(),
            blocked_hosts: HashSet::new(),
            turns: 0,
            len: 0,
        }
    }

    /// Whose endpoint, and at which host.
    pub fn push(&mut self, (org, host): (OrgId, Host), endpoint: EndpointId, kind: Kind, item: T) {
        let queue = self.queues.entry(endpoint).or_insert_with(|| Queue {
            org,
            host,
            turn: None,
            firsts: VecDeque::new(),
            retries: VecDeque::new(),
        });
        match kind {
            Kind::First => queue.firsts.push_back(item),
            Kind::Retry => queue.retries.push_back(item),
        }
        self.len += 1;
        self.stand(endpoint);
    }

    /// Who is next, and where to.
    pub fn next(&self, retries_too: bool) -> Option<(OrgId, Host)> {
        let org = self.line.next(retries_too)?;
        let host = self.orgs.get(&org)?.line.next(retries_too)?;
        Some((org, host))
    }

    /// The next to be sent; the endpoint that has the turn goes to the end.
    pub fn pop(&mut self, retries_too: bool) -> Option<(EndpointId, Kind, T)> {
        let place = self.next(retries_too)?;
        let endpoint = self.crowds.get(&place)?.line.next(retries_too)?;
        self.leave(endpoint);
        let queue = self.queues.get_mut(&endpoint)?;
        let (kind, item) = match queue.firsts.pop_front() {
            Some(item) => (Kind::First, item),
            None => (Kind::Retry, queue.retries.pop_front()?),
        };
        self.len -= 1;
        self.move_host_to_end(place);
        self.move_to_end(place.0);
        self.stand(endpoint);
        Some((endpoint, kind, item))
    }

    /// Nothing of this endpoint is handed out until it is unblocked.
    pub fn block(&mut self, endpoint: EndpointId) {
        if self.blocked.insert(endpoint) {
            self.leave(endpoint);
        }
    }

    pub fn unblock(&mut self, endpoint: EndpointId) {
        if self.blocked.remove(&endpoint) {
            self.stand(endpoint);
        }
    }

    /// Nothing of this organization's endpoints at this host is handed out until they are unblocked.
    pub fn block_host(&mut self, org: OrgId, host: Host) {
        if self.blocked_hosts.insert((org, host)) {
            self.leave_host((org, host));
        }
    }

    /// Whether something of theirs stands in line now.
    pub fn unblock_host(&mut self, org: OrgId, host: Host) -> bool {
        let place = (org, host);
        let was_blocked = self.blocked_hosts.remove(&place);
        let Some(crowd) = self.crowds.get_mut(&place) else {
            return false;
        };
        if was_blocked {
            crowd.turn = next_turn(&mut self.turns);
            self.stand_host(place);
        }
        true
    }

    /// How many wait for this endpoint.
    pub fn waiting(&self, endpoint: EndpointId) -> usize {
        self.queues.get(&endpoint).map_or(0, Queue::len)
    }

    /// Everything that waits for this endpoint, in order, firsts before retries.
    pub fn take(&mut self, endpoint: EndpointId) -> Vec<T> {
        self.leave(endpoint);
        let Some(queue) = self.queues.remove(&endpoint) else {
            return Vec::new();
        };
        self.len -= queue.len();
        queue.firsts.into_iter().chain(queue.retries).collect()
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts an endpoint where it belongs: in the line, at the end unless it stands there already; or,
    /// if nothing waits for it, nowhere.
    fn stand(&mut self, endpoint: EndpointId) {
        if self.blocked.contains(&endpoint) {
            return;
        }
        let Some(queue) = self.queues.get_mut(&endpoint) else {
            return;
        };
        if queue.len() == 0 {
            self.queues.remove(&endpoint);
            return;
        }
        let next = next_turn(&mut self.turns);
        let turn = *queue.turn.get_or_insert(next);
        let place = (queue.org, queue.host);
        let crowd = self.crowds.entry(place).or_insert_with(|| Waiting {
            turn: next,
            line: Line::new(),
        });
        crowd.line.stand(turn, endpoint, !queue.firsts.is_empty());
        self.stand_host(place);
    }

    /// The same for a host, of which something stands in line.
    fn stand_host(&mut self, place: (OrgId, Host)) {
        if self.blocked_hosts.contains(&place) {
            return;
        }
        let Some(crowd) = self.crowds.get(&place) else {
            return;
        };
        let (id, host) = place;
        let next = next_turn(&mut self.turns);
        let org = self.orgs.entry(id).or_insert_with(|| Waiting {
            turn: next,
            line: Line::new(),
        });
        org.line.stand(crowd.turn, host, crowd.line.has_firsts());
        self.line.stand(org.turn, id, org.line.has_firsts());
    }

    fn leave(&mut self, endpoint: EndpointId) {
        let Some(queue) = self.queues.get_mut(&endpoint) else {
            return;
        };
        let place = (queue.org, queue.host);
        let (Some(turn), Some(crowd)) = (queue.turn.take(), self.crowds.get_mut(&place)) else {
            return;
        };
        crowd.line.leave(turn, endpoint);
        if crowd.line.is_empty() {
            self.leave_host(place);
            self.crowds.remove(&place);
        } else {
            self.stand_host(place);
        }
    }

    fn leave_host(&mut self, place: (OrgId, Host)) {
        let (id, host) = place;
        let (Some(crowd), Some(org)) = (self.crowds.get(&place), self.orgs.get_mut(&id)) else {
            return;
        };
        org.line.leave(crowd.turn, host);
        if org.line.is_empty() {
            self.line.leave(org.turn, id);
            self.orgs.remove(&id);
        } else {
            self.line.stand(org.turn, id, org.line.has_firsts());
        }
    }

    fn move_to_end(&mut self, id: OrgId) {
        if let Some(org) = self.orgs.get_mut(&id) {
            self.line.leave(org.turn, id);
            org.turn = next_turn(&mut self.turns);
            self.line.stand(org.turn, id, org.line.has_firsts());
        }
    }

    fn move_host_to_end(&mut self, place: (OrgId, Host)) {
        let (id, host) = place;
        if let (Some(crowd), Some(org)) = (self.crowds.get_mut(&place), self.orgs.get_mut(&id)) {
            org.line.leave(crowd.turn, host);
            crowd.turn = next_turn(&mut self.turns);
            org.line.stand(crowd.turn, host, crowd.line.has_firsts());
        }
    }
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Queue<T> {
    fn len(&self) -> usize {
        self.firsts.len() + self.retries.len()
    }
}

impl<K: Copy + Ord> Line<K> {
    fn new() -> Self {
        Self {
            all: BTreeSet::new(),
            with_firsts: BTreeSet::new(),
        }
    }

    fn stand(&mut self, turn: u64, key: K, has_firsts: bool) {
        self.all.insert((turn, key));
        if has_firsts {
            self.with_firsts.insert((turn, key));
        } else {
            self.with_firsts.remove(&(turn, key));
        }
    }

    fn leave(&mut self, turn: u64, key: K) {
        self.all.remove(&(turn, key));
        self.with_firsts.remove(&(turn, key));
    }

    fn next(&self, retries_too: bool) -> Option<K> {
        let line = if retries_too {
            &self.all
        } else {
            &self.with_firsts
        };
        line.first().map(|(_, key)| *key)
    }

    fn has_firsts(&self) -> bool {
        !self.with_firsts.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

fn next_turn(turns: &mut u64) -> u64 {
    *turns += 1;
    *turns
}

#[cfg(test)]
mod tests;
