//! Every answer drives the documented state.

use std::{collections::BTreeSet, net::SocketAddr};

use domain::{
    DeliveryId, Timestamp,
    delivery::{
        Answer, Outcome, Reason, State,
        diagnosis::Trouble,
        schedule::{Next, Round, next},
    },
};
use uuid::Uuid;

const START: Timestamp = Timestamp::from_unix_millis(1_763_200_000_000);

fn after_the_first(answer: &Answer) -> Next {
    let delivery = DeliveryId::from_uuid(Uuid::from_u128(1));
    let round = Round {
        step: 0,
        since: START,
    };
    next((delivery, 1), round, answer, START)
}

#[test]
fn every_status_drives_the_documented_state() {
    for status in 100..=999 {
        let (outcome, state, reason) = match status {
            200..=299 => (Outcome::Delivered, State::Delivered, None),
            300..=399 => (Outcome::Redirect, State::Scheduled, None),
            408 | 425 | 429 | 500..=599 => (Outcome::Transient, State::Scheduled, None),
            410 => (Outcome::Gone, State::Scheduled, None),
            413 => (Outcome::Permanent, State::Failed, Some(Reason::Permanent)),
            _ => (Outcome::Rejected, State::Scheduled, None),
        };
        assert_eq!(Outcome::of_status(status), outcome, "{status}");
        let next = after_the_first(&Answer {
            outcome,
            status: Some(status),
            retry_after: None,
            timed_out: false,
        });
        assert_eq!((next.state(), next.reason()), (state, reason), "{status}");
        if let Next::At { step, .. } = next {
            assert_eq!(step, u32::from(status != 429), "{status}: what it uses up");
        }
    }
}

#[test]
fn every_trouble_drives_the_documented_state_and_says_what_to_do() {
    let address = SocketAddr::from(([203, 0, 113, 7], 443));
    let (host, detail) = (String::from("hooks.example.com"), String::from("why"));
    let transient = [
        Trouble::NoSuchName(host.clone()),
        Trouble::NoAddress(host.clone()),
        Trouble::Name {
            host: host.clone(),
            detail: detail.clone(),
        },
        Trouble::NameTimeout(host.clone()),
        Trouble::Refused(address),
        Trouble::ConnectTimeout(address),
        Trouble::Unreachable {
            address,
            detail: detail.clone(),
        },
        Trouble::CertificateExpired,
        Trouble::CertificateName(detail.clone()),
        Trouble::CertificateIssuer,
        Trouble::Certificate(detail.clone()),
        Trouble::TlsTimeout,
        Trouble::Tls(detail.clone()),
        Trouble::Reset,
        Trouble::Closed,
        Trouble::Malformed(detail.clone()),
        Trouble::NoAnswer,
        Trouble::NotSent,
        Trouble::Other(detail.clone()),
    ];
    let ours = [
        Trouble::NameServers {
            host,
            detail: detail.clone(),
        },
        Trouble::OurConnection(detail.clone()),
    ];
    let forbidden = [Trouble::Forbidden("10.0.0.1 is a private address.".into())];
    let cases = [
        (&transient[..], State::Scheduled, None, Some(1)),
        (&ours[..], State::Scheduled, None, Some(0)),
        (&forbidden[..], State::Held, Some(Reason::Blocked), None),
    ];
    let mut advice = BTreeSet::new();
    for (troubles, state, reason, used_up) in cases {
        for trouble in troubles {
            let next = after_the_first(&Answer {
                outcome: trouble.outcome(),
                status: None,
                retry_after: None,
                timed_out: trouble.is_timeout(),
            });
            assert_eq!((next.state(), next.reason()), (state, reason), "{trouble}");
            let step = match next {
                Next::At { step, .. } => Some(step),
                _ => None,
            };
            assert_eq!(step, used_up, "{trouble}");
            let text = trouble.explain();
            let what_to_do = text
                .strip_prefix(&trouble.to_string())
                .expect("what happened comes first");
            assert!(what_to_do.len() > 20 && what_to_do.ends_with('.'), "{text}");
            advice.insert(what_to_do.to_owned());
        }
    }
    assert!(advice.len() >= 18, "each has its own advice: {advice:?}");
}
