//! Deliveries as they are sent, while an organization changes its secret: body, headers, and the signatures of two secrets
//! in both schemes.

use std::hint::black_box;

use deliver::{
    secrets::key::Key,
    send::{
        headers::Head,
        signing::{Keys, Message},
    },
};
use domain::{DeliveryId, RuleId, SecretId, delivery::body::body};
use hyper::HeaderMap;
use journal::record::SecretUsed;
use secrecy::SecretString;
use uuid::Uuid;

use super::{NOW, Work, event};

pub(super) const DELIVERIES: u64 = 200;

pub(super) fn prepare() -> Work {
    let events: Vec<String> = (0..DELIVERIES).map(event).collect();
    let own = |number: u128, secret: &str| {
        let id = SecretId::from_uuid(Uuid::from_u128(number));
        (SecretUsed::Own(id), Key::new(&SecretString::from(secret)))
    };
    let keys = Keys {
        main: Some(own(2, "whsec_dGhpcyBpcyBhIHNlY3JldCBmb3IgdGVzdHMgb25seSE=")),
        previous: Some(own(1, "whsec_c29tZXRoaW5nIGVsc2UgdGhhdCBub2JvZHkgdXNlcyE=")),
        next: None,
    };
    Box::new(move || {
        for (number, event) in (0..).zip(&events) {
            black_box(signed(&keys, number, event));
        }
    })
}

fn signed(keys: &Keys<(SecretUsed, Key)>, number: u128, event: &str) -> (HeaderMap, String) {
    let delivery = DeliveryId::from_uuid(Uuid::from_u128(number));
    let rule = RuleId::from_uuid(Uuid::from_u128(number % 100));
    let body = body(rule, "Deleted objects", event, NOW);
    let head = Head {
        delivery,
        event_type: "tool_call",
        signed_at: NOW,
        attempt: 1,
        trigger: "match",
        suppressed: None,
    };
    let mut headers = head.headers().expect("plain ASCII");
    let message = Message {
        delivery,
        signed_at: NOW,
        body: &body,
    };
    keys.sign(&mut headers, message);
    (headers, body)
}
