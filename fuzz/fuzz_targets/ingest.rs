//! Fuzzes the door for events: it never panics, what it accepts is what was sent behind the server's
//! fields, and what it stored can be read, matched and delivered again.
#![no_main]

use std::time::Duration;

use domain::{
    OrgId, RuleId, Timestamp, batch,
    delivery::body::body,
    event::{self, EventView, accept::Arrival},
    rule::Pattern,
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use uuid::Uuid;

fuzz_target!(|input: &[u8]| {
    let Ok(sent) = batch::parse(input) else { return };
    let arrival = Arrival {
        org: OrgId::from_uuid(Uuid::from_u128(1)),
        received_at: Timestamp::from_unix_millis(1_794_735_000_000),
        retention: Duration::from_secs(183 * 24 * 3600),
    };
    for raw in sent.events {
        // A rule is written in the same hand as an event.
        if let Ok(value) = serde_json::from_str::<Value>(raw.get()) {
            let _ = Pattern::parse(value);
        }
        let Ok(accepted) = event::accept(raw, arrival, [7; 10]) else { continue };
        assert!(accepted.json.ends_with(&raw.get().trim_start()[1..]), "kept verbatim");
        let stored = EventView::parse(&accepted.json).expect("what was stored can be read");
        assert_eq!(stored.text("id").as_deref(), Some(accepted.id.to_string().as_str()));
        let rule = RuleId::from_uuid(Uuid::from_u128(2));
        let webhook = body(rule, "\"\u{1}", &accepted.json, arrival.received_at);
        serde_json::from_str::<Value>(&webhook).expect("a webhook is JSON");
    }
});
