//! Whose turn it is: in a few cases, and beside a model that is searched from end to end.

use proptest::prelude::*;
use uuid::Uuid;

use super::*;

fn org(number: u8) -> OrgId {
    OrgId::from_uuid(Uuid::from_u128(number.into()))
}

/// Each organization has its own.
fn endpoint(org: u8, number: u8) -> EndpointId {
    EndpointId::from_uuid(Uuid::from_u128(u128::from(org) << 8 | u128::from(number)))
}

/// Two endpoints of three are at the same one.
fn host(number: u8) -> Host {
    Host::named(if number == 0 { "a:443" } else { "b:443" })
}

fn push(queue: &mut FairQueue<u32>, (of, number): (u8, u8), kind: Kind, item: u32) {
    queue.push((org(of), host(number)), endpoint(of, number), kind, item);
}

#[test]
fn an_organization_with_one_endpoint_gets_every_other_turn_beside_one_with_a_hundred() {
    let mut queue = FairQueue::new();
    for number in 0..100 {
        push(&mut queue, (1, number), Kind::First, 0);
    }
    for item in 0..50 {
        push(&mut queue, (2, 0), Kind::First, item);
    }
    let turns: Vec<bool> = (0..100)
        .map(|_| queue.pop(true).expect("150 wait").0 == endpoint(2, 0))
        .collect();
    assert!(turns.chunks(2).all(|pair| pair[0] != pair[1]), "{turns:?}");
}

#[test]
fn a_thousand_waiting_delay_another_endpoint_by_one_turn() {
    let mut queue = FairQueue::new();
    for item in 0..1_000 {
        push(&mut queue, (1, 1), Kind::First, item);
    }
    assert_eq!(queue.pop(true), Some((endpoint(1, 1), Kind::First, 0)));
    push(&mut queue, (1, 2), Kind::First, 7);
    queue.pop(true);
    assert_eq!(queue.pop(true), Some((endpoint(1, 2), Kind::First, 7)));
}

#[test]
fn who_has_only_retries_keeps_the_turn_while_no_retry_may_be_sent() {
    let mut queue = FairQueue::new();
    push(&mut queue, (1, 1), Kind::Retry, 1);
    for item in 10..13 {
        push(&mut queue, (2, 1), Kind::First, item);
    }
    assert_eq!(queue.pop(false).map(|next| next.2), Some(10));
    assert_eq!(queue.pop(false).map(|next| next.2), Some(11));
    assert_eq!(queue.pop(true).map(|next| next.2), Some(1));
    assert_eq!(queue.pop(true).map(|next| next.2), Some(12));
    assert_eq!(queue.pop(true), None);
}

#[test]
fn a_blocked_endpoint_waits_and_nothing_of_it_is_remembered_when_it_is_done() {
    let mut queue = FairQueue::new();
    queue.block(endpoint(1, 1));
    push(&mut queue, (1, 1), Kind::First, 1);
    assert_eq!((queue.pop(true), queue.len()), (None, 1));
    queue.unblock(endpoint(1, 1));
    assert_eq!(queue.pop(true), Some((endpoint(1, 1), Kind::First, 1)));
    assert!(queue.is_empty() && queue.queues.is_empty() && queue.orgs.is_empty());
    assert!(queue.crowds.is_empty() && queue.blocked.is_empty() && queue.line.is_empty());
}

#[test]
fn who_is_blocked_at_a_host_is_served_elsewhere_and_others_there() {
    let mut queue = FairQueue::new();
    for number in [1, 2] {
        push(&mut queue, (1, number), Kind::First, u32::from(number));
    }
    queue.block_host(org(1), host(1));
    push(&mut queue, (1, 0), Kind::First, 10);
    push(&mut queue, (2, 1), Kind::First, 20);
    assert_eq!(queue.next(true), Some((org(1), host(0))));
    let served: Vec<u32> = std::iter::from_fn(|| Some(queue.pop(true)?.2)).collect();
    assert_eq!((served, queue.len()), (vec![10, 20], 2));
    assert!(queue.unblock_host(org(1), host(1)));
    assert!(!queue.unblock_host(org(1), host(0)), "nothing waits there");
    assert_eq!(queue.pop(true).map(|next| next.2), Some(1));
    assert_eq!(queue.pop(true).map(|next| next.2), Some(2));
    assert!(queue.crowds.is_empty() && queue.orgs.is_empty() && queue.blocked_hosts.is_empty());
}

#[test]
fn a_host_with_a_hundred_endpoints_gets_every_other_turn_beside_one_with_one() {
    let mut queue = FairQueue::new();
    for number in 0..100 {
        push(&mut queue, (1, number), Kind::First, 0);
    }
    for item in 0..20 {
        push(&mut queue, (1, 0), Kind::First, item);
    }
    let alone: usize = (0..40)
        .filter(|_| queue.pop(true).expect("120 wait").0 == endpoint(1, 0))
        .count();
    assert_eq!(alone, 20);
}

#[derive(Clone, Debug)]
enum Step {
    Push(u8, u8, bool),
    Pop(bool),
    Block(u8, u8),
    Unblock(u8, u8),
    Take(u8, u8),
    BlockHost(u8, u8),
    UnblockHost(u8, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let (org, number) = (0u8..3, 0u8..3);
    prop_oneof![
        6 => (org.clone(), number.clone(), any::<bool>()).prop_map(|(o, n, f)| Step::Push(o, n, f)),
        6 => any::<bool>().prop_map(Step::Pop),
        2 => (org.clone(), number.clone()).prop_map(|(o, n)| Step::Block(o, n)),
        2 => (org.clone(), number.clone()).prop_map(|(o, n)| Step::Unblock(o, n)),
        1 => (org.clone(), number.clone()).prop_map(|(o, n)| Step::Take(o, n)),
        2 => (org.clone(), number.clone()).prop_map(|(o, n)| Step::BlockHost(o, n)),
        2 => (org, number).prop_map(|(o, n)| Step::UnblockHost(o, n)),
    ]
}

/// What waits, in the order it came, searched from end to end.
#[derive(Default)]
struct Model {
    waiting: Vec<(EndpointId, Kind, u32)>,
    blocked: HashSet<EndpointId>,
    blocked_hosts: HashSet<(u8, Host)>,
}

impl Model {
    fn is_blocked(&self, endpoint: EndpointId) -> bool {
        let [.., of, number] = endpoint.uuid().into_bytes();
        self.blocked.contains(&endpoint) || self.blocked_hosts.contains(&(of, host(number)))
    }

    fn first(&self, endpoint: EndpointId, kind: Kind) -> Option<u32> {
        let mut waiting = self.waiting.iter();
        waiting
            .find(|item| (item.0, item.1) == (endpoint, kind))
            .map(|item| item.2)
    }

    fn may_pop(&self, retries_too: bool) -> bool {
        let mut waiting = self.waiting.iter();
        waiting.any(|(endpoint, kind, _)| {
            !self.is_blocked(*endpoint) && (retries_too || *kind == Kind::First)
        })
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_doubled_or_out_of_order(steps in prop::collection::vec(step(), 0..300)) {
        let (mut queue, mut model) = (FairQueue::new(), Model::default());
        for (number, step) in steps.into_iter().enumerate() {
            let item = u32::try_from(number).expect("few steps");
            match step {
                Step::Push(of, at, first) => {
                    let kind = if first { Kind::First } else { Kind::Retry };
                    push(&mut queue, (of, at), kind, item);
                    model.waiting.push((endpoint(of, at), kind, item));
                }
                Step::Pop(retries_too) => match queue.pop(retries_too) {
                    None => prop_assert!(!model.may_pop(retries_too)),
                    Some((endpoint, kind, item)) => {
                        prop_assert!(!model.is_blocked(endpoint));
                        prop_assert!(retries_too || kind == Kind::First);
                        prop_assert_eq!(model.first(endpoint, kind), Some(item));
                        if kind == Kind::Retry {
                            prop_assert_eq!(model.first(endpoint, Kind::First), None);
                        }
                        model.waiting.retain(|waiting| waiting.2 != item);
                    }
                },
                Step::Block(of, at) => {
                    queue.block(endpoint(of, at));
                    model.blocked.insert(endpoint(of, at));
                }
                Step::Unblock(of, at) => {
                    queue.unblock(endpoint(of, at));
                    model.blocked.remove(&endpoint(of, at));
                }
                Step::BlockHost(of, at) => {
                    queue.block_host(org(of), host(at));
                    model.blocked_hosts.insert((of, host(at)));
                }
                Step::UnblockHost(of, at) => {
                    queue.unblock_host(org(of), host(at));
                    model.blocked_hosts.remove(&(of, host(at)));
                }
                Step::Take(of, at) => {
                    let mut taken = queue.take(endpoint(of, at));
                    taken.sort_unstable();
                    let (out, left) = model.waiting.into_iter().partition(|item| item.0 == endpoint(of, at));
                    model.waiting = left;
                    let out: Vec<_> = out;
                    prop_assert_eq!(taken, out.iter().map(|item| item.2).collect::<Vec<_>>());
                }
            }
            prop_assert_eq!(queue.len(), model.waiting.len());
            let here = endpoint(item.to_le_bytes()[0] % 3, 0);
            let waiting = model.waiting.iter().filter(|item| item.0 == here).count();
            prop_assert_eq!(queue.waiting(here), waiting);
        }
    }

    /// Whoever can be sent to is served once before anybody of the same kind is served twice.
    #[test]
    fn turns_go_round(counts in prop::collection::vec((0u8..4, 0u8..4, 1u32..20), 1..12)) {
        let mut queue = FairQueue::new();
        for (of, at, count) in counts {
            for item in 0..count {
                push(&mut queue, (of, at), Kind::First, item);
            }
        }
        let mut since: HashMap<u128, HashSet<u128>> = HashMap::new();
        while let Some((served, _, _)) = queue.pop(true) {
            let of = served.uuid().as_u128() >> 8;
            let still_waits = queue.queues.values().any(|queue| queue.org.uuid().as_u128() == of);
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
