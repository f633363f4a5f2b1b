//! The door for events, in every form (the first byte says which): it never panics, what it
//! accepts is what was sent behind the server's fields, and what it stored can be read and delivered.

use std::time::Duration;

use domain::{
    KeyId, OrgId, RuleId, Timestamp,
    batch::{self, EVENTS_MAX, Form},
    delivery::body::body,
    event::{self, EventView, Source, accept::Arrival},
    id::Tail,
};
use serde_json::Value;
use uuid::Uuid;

pub(crate) fn check(input: &[u8]) {
    let Some((form, sent)) = input.split_first() else {
        return;
    };
    let form = Form::ALL[usize::from(*form) % Form::ALL.len()];
    let Ok(batch) = batch::parse(form, sent) else {
        return;
    };
    assert!((1..=EVENTS_MAX).contains(&batch.events.len()));
    let arrival = Arrival {
        org: OrgId::from_uuid(Uuid::from_u128(1)),
        source: Source::Key(KeyId::from_uuid(Uuid::from_u128(3))),
        received_at: Timestamp::from_unix_millis(1_794_735_000_000),
        retention: Duration::from_secs(183 * 24 * 3600),
    };
    let accept = |sent: &event::Sent<'_>| {
        let mut stored = String::new();
        let id = event::accept(sent, &arrival, Tail::Random([7; 10]), &mut stored);
        id.map(|id| (id, stored))
    };
    for sent in batch.events.iter().flatten() {
        let Ok((id, stored)) = accept(sent) else {
            continue;
        };
        assert!(
            stored.ends_with(&sent.json.trim_start()[1..]),
            "kept verbatim"
        );
        let view = EventView::parse(&stored).expect("what was stored can be read");
        assert_eq!(view.text("id").as_deref(), Some(id.text().as_str()));
        assert_eq!(id.is_derived(), view.client_event_id.is_some());
        let again = accept(sent).expect("judged again it is the same");
        assert_eq!((id, &stored), (again.0, &again.1));
        let rule = RuleId::from_uuid(Uuid::from_u128(2));
        let webhook = body(rule, "\"\u{1}", &stored, arrival.received_at);
        serde_json::from_str::<Value>(&webhook).expect("a webhook is JSON");
    }
}
