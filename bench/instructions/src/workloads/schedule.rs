//! Deliveries from their first attempt to their last: what follows each, as the worker computes it.

use std::{hint::black_box, time::Duration};

use domain::{
    DeliveryId,
    delivery::{
        Answer, Outcome,
        schedule::{Next, Round, is_expired, next},
    },
};
use uuid::Uuid;

use super::{NOW, Work};

pub(super) const DELIVERIES: u64 = 200;

pub(super) fn prepare() -> Work {
    Box::new(|| {
        for number in 0..DELIVERIES {
            black_box(attempts(number));
        }
    })
}

/// How many attempts there are until the delivery ends.
fn attempts(delivery: u64) -> u32 {
    let id = DeliveryId::from_uuid(Uuid::from_u128(u128::from(delivery)));
    let (mut round, mut at) = (
        Round {
            step: 0,
            since: NOW,
        },
        NOW,
    );
    for number in 1.. {
        match next((id, number), round, &answer(delivery, number), at) {
            Next::At { due, step } if !is_expired(round, due) => {
                (round, at) = (Round { step, ..round }, due);
            }
            _ => return number,
        }
    }
    0
}

/// What endpoints in trouble say: errors, none at all, and now and then that they want to be left alone.
fn answer(delivery: u64, number: u32) -> Answer {
    let status = [Some(500), None, Some(429), Some(503)];
    let place = (delivery + u64::from(number)) % 4;
    let status = status[usize::try_from(place).expect("a small number")];
    Answer {
        outcome: status.map_or(Outcome::Transient, Outcome::of_status),
        status,
        retry_after: (status == Some(503)).then_some(Duration::from_hours(1)),
        timed_out: status.is_none(),
    }
}
