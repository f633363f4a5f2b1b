//! A rota: whose turn it is among all that could be sent now.
//!
//! Round robin over the organisations, then over each one's endpoints, then what was never tried before
//! what is tried again: nobody gets more by having more endpoints or more waiting. Who has waited
//! longest for a turn is next; who comes, or comes back, stands at the end. A blocked endpoint stands
//! nowhere, so that finding the next costs the same however many are blocked.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use crate::{EndpointId, OrgId};

/// What waits to be sent, in fair order.
#[derive(Debug)]
pub struct Rota<T> {
    /// Endpoints for which something waits.
    queues: HashMap<EndpointId, Queue<T>>,
    /// Organisations that have something to send to an endpoint that is not blocked.
    orgs: HashMap<OrgId, Org>,
    line: Line<OrgId>,
    blocked: HashSet<EndpointId>,
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
    /// Its place in the line; `None`: blocked.
    turn: Option<u64>,
    firsts: VecDeque<T>,
    retries: VecDeque<T>,
}

#[derive(Debug)]
struct Org {
    turn: u64,
    line: Line<EndpointId>,
}

/// Those who wait for their turn. Those who have a first attempt waiting stand in two lines, so that
/// they are found at once when no retry may be sent.
#[derive(Debug)]
struct Line<K> {
    all: BTreeSet<(u64, K)>,
    with_firsts: BTreeSet<(u64, K)>,
}

impl<T> Rota<T> {
    pub fn new() -> Self {
        Self {
            queues: HashMap::new(),
            orgs: HashMap::new(),
            line: Line::new(),
            blocked: HashSet::new(),
            turns: 0,
            len: 0,
        }
    }

    pub fn push(&mut self, org: OrgId, endpoint: EndpointId, kind: Kind, item: T) {
        let queue = self.queues.entry(endpoint).or_insert_with(|| Queue {
            org,
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

    /// The next to be sent; the endpoint that has the turn goes to the end.
    pub fn pop(&mut self, retries_too: bool) -> Option<(EndpointId, Kind, T)> {
        let org = self.line.next(retries_too)?;
        let endpoint = self.orgs.get(&org)?.line.next(retries_too)?;
        self.leave(endpoint);
        let queue = self.queues.get_mut(&endpoint)?;
        let (kind, item) = match queue.firsts.pop_front() {
            Some(item) => (Kind::First, item),
            None => (Kind::Retry, queue.retries.pop_front()?),
        };
        self.len -= 1;
        self.move_to_end(org);
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
        let org = self.orgs.entry(queue.org).or_insert_with(|| Org {
            turn: next,
            line: Line::new(),
        });
        org.line.stand(turn, endpoint, !queue.firsts.is_empty());
        self.line.stand(org.turn, queue.org, org.line.has_firsts());
    }

    fn leave(&mut self, endpoint: EndpointId) {
        let Some(queue) = self.queues.get_mut(&endpoint) else {
            return;
        };
        let (Some(turn), Some(org)) = (queue.turn.take(), self.orgs.get_mut(&queue.org)) else {
            return;
        };
        org.line.leave(turn, endpoint);
        self.line.leave(org.turn, queue.org);
        if org.line.is_empty() {
            self.orgs.remove(&queue.org);
        } else {
            self.line.stand(org.turn, queue.org, org.line.has_firsts());
        }
    }

    fn move_to_end(&mut self, id: OrgId) {
        if let Some(org) = self.orgs.get_mut(&id) {
            self.line.leave(org.turn, id);
            org.turn = next_turn(&mut self.turns);
            self.line.stand(org.turn, id, org.line.has_firsts());
        }
    }
}

impl<T> Default for Rota<T> {
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
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn org(number: u8) -> OrgId {
        OrgId::from_uuid(Uuid::from_u128(number.into()))
    }

    /// Each organisation has its own.
    fn endpoint(org: u8, number: u8) -> EndpointId {
        EndpointId::from_uuid(Uuid::from_u128(u128::from(org) << 8 | u128::from(number)))
    }

    fn push(rota: &mut Rota<u32>, (of, number): (u8, u8), kind: Kind, item: u32) {
        rota.push(org(of), endpoint(of, number), kind, item);
    }

    #[test]
    fn an_organisation_with_one_endpoint_gets_every_other_turn_beside_one_with_a_hundred() {
        let mut rota = Rota::new();
        for number in 0..100 {
            push(&mut rota, (1, number), Kind::First, 0);
        }
        for item in 0..50 {
            push(&mut rota, (2, 0), Kind::First, item);
        }
        let turns: Vec<bool> = (0..100)
            .map(|_| rota.pop(true).expect("150 wait").0 == endpoint(2, 0))
            .collect();
        assert!(turns.chunks(2).all(|pair| pair[0] != pair[1]), "{turns:?}");
    }

    #[test]
    fn a_thousand_waiting_delay_another_endpoint_by_one_turn() {
        let mut rota = Rota::new();
        for item in 0..1_000 {
            push(&mut rota, (1, 1), Kind::First, item);
        }
        assert_eq!(rota.pop(true), Some((endpoint(1, 1), Kind::First, 0)));
        push(&mut rota, (1, 2), Kind::First, 7);
        rota.pop(true);
        assert_eq!(rota.pop(true), Some((endpoint(1, 2), Kind::First, 7)));
    }

    #[test]
    fn who_has_only_retries_keeps_the_turn_while_no_retry_may_be_sent() {
        let mut rota = Rota::new();
        push(&mut rota, (1, 1), Kind::Retry, 1);
        for item in 10..13 {
            push(&mut rota, (2, 1), Kind::First, item);
        }
        assert_eq!(rota.pop(false).map(|next| next.2), Some(10));
        assert_eq!(rota.pop(false).map(|next| next.2), Some(11));
        assert_eq!(rota.pop(true).map(|next| next.2), Some(1));
        assert_eq!(rota.pop(true).map(|next| next.2), Some(12));
        assert_eq!(rota.pop(true), None);
    }

    #[test]
    fn a_blocked_endpoint_waits_and_nothing_of_it_is_remembered_when_it_is_done() {
        let mut rota = Rota::new();
        rota.block(endpoint(1, 1));
        push(&mut rota, (1, 1), Kind::First, 1);
        assert_eq!((rota.pop(true), rota.len()), (None, 1));
        rota.unblock(endpoint(1, 1));
        assert_eq!(rota.pop(true), Some((endpoint(1, 1), Kind::First, 1)));
        assert!(rota.is_empty() && rota.queues.is_empty() && rota.orgs.is_empty());
        assert!(rota.blocked.is_empty() && rota.line.is_empty());
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push(u8, u8, bool),
        Pop(bool),
        Block(u8, u8),
        Unblock(u8, u8),
        Take(u8, u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        let (org, number) = (0u8..3, 0u8..3);
        prop_oneof![
            6 => (org.clone(), number.clone(), any::<bool>()).prop_map(|(o, n, f)| Step::Push(o, n, f)),
            6 => any::<bool>().prop_map(Step::Pop),
            2 => (org.clone(), number.clone()).prop_map(|(o, n)| Step::Block(o, n)),
            2 => (org.clone(), number.clone()).prop_map(|(o, n)| Step::Unblock(o, n)),
            1 => (org, number).prop_map(|(o, n)| Step::Take(o, n)),
        ]
    }

    /// What waits, in the order it came, searched from end to end.
    #[derive(Default)]
    struct Model {
        waiting: Vec<(EndpointId, Kind, u32)>,
        blocked: HashSet<EndpointId>,
    }

    impl Model {
        fn first(&self, endpoint: EndpointId, kind: Kind) -> Option<u32> {
            let mut waiting = self.waiting.iter();
            waiting
                .find(|item| (item.0, item.1) == (endpoint, kind))
                .map(|item| item.2)
        }

        fn may_pop(&self, retries_too: bool) -> bool {
            let mut waiting = self.waiting.iter();
            waiting.any(|(endpoint, kind, _)| {
                !self.blocked.contains(endpoint) && (retries_too || *kind == Kind::First)
            })
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_doubled_or_out_of_order(steps in prop::collection::vec(step(), 0..300)) {
            let (mut rota, mut model) = (Rota::new(), Model::default());
            for (number, step) in steps.into_iter().enumerate() {
                let item = u32::try_from(number).expect("few steps");
                match step {
                    Step::Push(of, at, first) => {
                        let kind = if first { Kind::First } else { Kind::Retry };
                        push(&mut rota, (of, at), kind, item);
                        model.waiting.push((endpoint(of, at), kind, item));
                    }
                    Step::Pop(retries_too) => match rota.pop(retries_too) {
                        None => prop_assert!(!model.may_pop(retries_too)),
                        Some((endpoint, kind, item)) => {
                            prop_assert!(!model.blocked.contains(&endpoint));
                            prop_assert!(retries_too || kind == Kind::First);
                            prop_assert_eq!(model.first(endpoint, kind), Some(item));
                            if kind == Kind::Retry {
                                prop_assert_eq!(model.first(endpoint, Kind::First), None);
                            }
                            model.waiting.retain(|waiting| waiting.2 != item);
                        }
                    },
                    Step::Block(of, at) => {
                        rota.block(endpoint(of, at));
                        model.blocked.insert(endpoint(of, at));
                    }
                    Step::Unblock(of, at) => {
                        rota.unblock(endpoint(of, at));
                        model.blocked.remove(&endpoint(of, at));
                    }
                    Step::Take(of, at) => {
                        let mut taken = rota.take(endpoint(of, at));
                        taken.sort_unstable();
                        let (out, left) = model.waiting.into_iter().partition(|item| item.0 == endpoint(of, at));
                        model.waiting = left;
                        let out: Vec<_> = out;
                        prop_assert_eq!(taken, out.iter().map(|item| item.2).collect::<Vec<_>>());
                    }
                }
                prop_assert_eq!(rota.len(), model.waiting.len());
                let here = endpoint(item.to_le_bytes()[0] % 3, 0);
                let waiting = model.waiting.iter().filter(|item| item.0 == here).count();
                prop_assert_eq!(rota.waiting(here), waiting);
            }
        }

        /// Whoever can be sent to is served once before anybody of the same kind is served twice.
        #[test]
        fn turns_go_round(counts in prop::collection::vec((0u8..4, 0u8..4, 1u32..20), 1..12)) {
            let mut rota = Rota::new();
            for (of, at, count) in counts {
                for item in 0..count {
                    push(&mut rota, (of, at), Kind::First, item);
                }
            }
            let mut since: HashMap<u128, HashSet<u128>> = HashMap::new();
            while let Some((served, _, _)) = rota.pop(true) {
                let of = served.uuid().as_u128() >> 8;
                let still_waits = rota.queues.values().any(|queue| queue.org.uuid().as_u128() == of);
                for others in since.values_mut() {
                    let again = !others.insert(of);
                    prop_assert!(!again, "{of} was served twice while another waited");
                }
                since.remove(&of);
                if still_waits {
                    since.insert(of, HashSet::new());
                }
            }
        }
    }
}
