//! An audit that finds nothing must be one that would have found something.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use domain::{DeliveryId, EventId, RuleId};

use super::{Findings, decisions, deliveries, duplicates, limits, trail};
use crate::books::{AcceptedEvent, Activation, Arrival, Decision, Expected, Pages};
use crate::fault::{Fault, Kind, Part, PastFault, Reach};
use crate::fleet::STATS_LIMIT;
use crate::fleet::node::Role;
use crate::now;

const WORKER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 31));
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 32));

fn event(number: u8) -> EventId {
    EventId::new(now(), [number; 10])
}

fn rule() -> RuleId {
    RuleId::new(now(), [0; 10])
}

fn accepted(org: usize, expected: Expected) -> AcceptedEvent {
    let sent = Instant::now();
    AcceptedEvent {
        org,
        sent,
        expected,
    }
}

fn arrival(event: EventId, rule: RuleId, to: usize, at: Instant) -> Arrival {
    let delivery = DeliveryId::of(event, rule);
    Arrival {
        delivery,
        event,
        rule,
        to,
        at,
        from: WORKER,
    }
}

fn kill_of_a_worker(began: Instant, reach: Reach) -> PastFault {
    let kind = Kind::Kill(Part::Node(Role::Deliver));
    let fault = Fault {
        kind,
        which: 0,
        lasts: Duration::from_secs(1),
    };
    let healed = began + Duration::from_secs(1);
    PastFault {
        fault,
        reach,
        began,
        healed,
        recovered: healed,
        exits: 0,
    }
}

fn found(check: impl FnOnce(&mut Findings)) -> Vec<String> {
    let mut findings = Findings::default();
    check(&mut findings);
    findings.lines().to_vec()
}

#[test]
fn an_event_that_is_lost_doubled_foreign_or_unknown_is_found() {
    let (lost, doubled, foreign, well) = (event(1), event(2), event(3), event(4));
    let mut pages = Pages::default();
    for id in [lost, doubled, foreign, well] {
        pages.accepted.insert(id, accepted(0, Expected::Nothing));
    }
    let own = HashMap::from([(doubled, 2), (foreign, 1), (well, 1), (event(9), 1)]);
    let listed = [own, HashMap::from([(foreign, 1)])];
    let found = found(|findings| trail::check(&pages, &listed, findings));
    assert_eq!(found.len(), 4, "{found:#?}");
    assert!(found[0].contains(&lost.to_string()), "{found:#?}");
}

#[test]
fn an_alert_that_is_missing_uncalled_for_or_elsewhere_is_found() {
    let (missing, quiet, foreign, rule) = (event(1), event(2), event(3), rule());
    let mut pages = Pages::default();
    pages
        .accepted
        .insert(missing, accepted(0, Expected::Alert(rule)));
    pages.accepted.insert(quiet, accepted(0, Expected::Nothing));
    pages
        .accepted
        .insert(foreign, accepted(0, Expected::Alert(rule)));
    let now = Instant::now();
    pages.arrivals = vec![arrival(quiet, rule, 0, now), arrival(foreign, rule, 1, now)];
    let found = found(|findings| deliveries::check(&pages, &[], &[], findings));
    assert_eq!(found.len(), 3, "{found:#?}");
}

#[test]
fn a_webhook_that_is_sent_again_needs_an_excuse_of_its_own_sender() {
    let (event, rule, at) = (event(1), rule(), Instant::now());
    let pages = Pages {
        arrivals: vec![
            arrival(event, rule, 0, at),
            arrival(event, rule, 0, at + Duration::from_secs(20)),
        ],
        ..Pages::default()
    };
    let unexplained = |faults: &[PastFault]| {
        found(|findings| drop(duplicates::check(&pages, faults, findings))).len()
    };
    assert_eq!(unexplained(&[]), 1);
    assert_eq!(
        unexplained(&[kill_of_a_worker(at, Reach::Worker(WORKER))]),
        0
    );
    assert_eq!(
        unexplained(&[kill_of_a_worker(at, Reach::Worker(OTHER))]),
        1
    );
    assert_eq!(unexplained(&[kill_of_a_worker(at, Reach::Nobody)]), 1);
    let long_after = at + Duration::from_secs(10);
    assert_eq!(
        unexplained(&[kill_of_a_worker(long_after, Reach::Everybody)]),
        1
    );
}

#[test]
fn no_fault_excuses_more_than_a_worker_has_in_hand() {
    let (rule, at) = (rule(), Instant::now());
    let twice = |number: u8| {
        let event = event(number);
        [at, at + Duration::from_secs(20)].map(|at| arrival(event, rule, 0, at))
    };
    let pages = |count: u8| Pages {
        arrivals: (0..count).flat_map(twice).collect(),
        ..Pages::default()
    };
    let faults = [kill_of_a_worker(at, Reach::Worker(WORKER))];
    let found =
        |count| found(|findings| drop(duplicates::check(&pages(count), &faults, findings))).len();
    assert_eq!((found(128), found(129)), (0, 1));
}

#[test]
fn a_decision_that_contradicts_its_version_or_comes_from_an_old_one_is_found() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let activation = |version, began| Activation {
        version,
        began,
        returned: Some(began),
    };
    let decision = |version, asked, allowed| Decision {
        asked,
        answered: asked,
        version,
        allowed,
    };
    let pages = Pages {
        activations: vec![activation(3, at(0)), activation(2, at(10))],
        decisions: vec![
            decision(3, at(5), false),
            decision(2, at(20), true),
            decision(3, at(20), false),
            decision(2, at(21), false),
        ],
        ..Pages::default()
    };
    let found = found(|findings| {
        assert_eq!(decisions::check(&pages, &[], findings), 0);
    });
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(
        found.iter().all(|line| line.starts_with("1: ")),
        "{found:#?}"
    );
}

#[test]
fn a_window_with_one_more_than_the_limit_is_found() {
    let (limit, start) = (STATS_LIMIT.0, Instant::now());
    let pages = |count: usize| Pages {
        admitted: vec![(start, start); count],
        ..Pages::default()
    };
    let found = |count, faults: &[PastFault]| {
        found(|findings| {
            limits::check(&pages(count), faults, findings);
        })
        .len()
    };
    assert_eq!((found(limit, &[]), found(limit + 1, &[])), (0, 1));
}
