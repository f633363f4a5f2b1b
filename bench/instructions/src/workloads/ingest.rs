//! A batch as `POST /v1/audit/events` judges it: read as far as its events, each checked, written as it is stored, and
//! packed for the journal.

use std::{hint::black_box, time::Duration};

use domain::{
    batch::{self, Form},
    event::{self, Source, accept::Arrival},
    id::{RANDOM_BYTES, Tail},
};
use journal::{frames::Frames, record::EventRecord};

use super::{NOW, Work, event, key, org};

pub(super) const EVENTS: u64 = 200;

pub(super) fn prepare() -> Work {
    let events: Vec<String> = (0..EVENTS).map(event).collect();
    let body = format!(r#"{{"events":[{}]}}"#, events.join(","));
    Box::new(move || {
        black_box(frames(body.as_bytes()));
    })
}

fn frames(body: &[u8]) -> Frames {
    let arrival = Arrival {
        org: org(),
        source: Source::Key(key()),
        received_at: NOW,
        retention: Duration::from_hours(24),
    };
    let batch = batch::parse(Form::Json, body).expect("a batch written by us");
    let mut frames = Frames::expecting(body.len());
    let mut json = String::new();
    for sent in batch.events {
        json.clear();
        let sent = sent.expect("an event written by us");
        let tail = Tail::Random([7; RANDOM_BYTES]);
        let id = event::accept(&sent, &arrival, tail, &mut json).expect("it is accepted");
        frames.push(&EventRecord {
            org: arrival.org,
            id,
            received_at: arrival.received_at,
            json: &json,
        });
    }
    frames
}
