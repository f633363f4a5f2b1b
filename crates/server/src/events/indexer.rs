//! Fills the events table from the journal: one task per partition, exactly once.

use std::borrow::Cow;

use domain::event::EventView;
use journal::{
    record::{self, EventRecord},
    salt::MessageSalt,
};
use store::{
    Store,
    events::{EventIndex, EventRow},
    watermark::{Applied, Source, Span},
    writer::Writer,
};
use trail_proof::leaf::Salt;

use crate::{apply_log::Sink, dead_letters::Unfit, telemetry::metrics as names};

/// Writes the events of a log to the index.
pub(crate) struct Index(EventIndex);

impl Sink for Index {
    const LOG: &'static str = "events";
    type Record<'m> = Event<'m>;

    async fn open(store: &Store) -> Result<Self, store::Error> {
        store.event_index().await.map(Self)
    }

    fn writer(&mut self) -> &mut Writer {
        &mut self.0.writer
    }

    fn read(
        message: &[u8],
        salt: MessageSalt,
    ) -> Result<Vec<Result<Event<'_>, Unfit>>, journal::Error> {
        let records = record::events(message)?.into_iter();
        Ok(records.map(|record| Event::read(record, salt)).collect())
    }

    fn unfit(event: &Event<'_>, reason: String) -> Unfit {
        unfit(&event.record, reason)
    }

    async fn apply(
        &mut self,
        source: &Source,
        span: Span,
        events: &[Self::Record<'_>],
    ) -> Result<Applied, store::Error> {
        let applied = self.0.apply(source, span, &rows(events)).await?;
        if applied == Applied::Done {
            metrics::counter!(names::EVENTS_INDEXED).increment(events.len() as u64);
        }
        Ok(applied)
    }

    async fn redrive(
        &mut self,
        place: &str,
        events: &[Self::Record<'_>],
    ) -> Result<(), store::Error> {
        self.0.redrive(place, &rows(events)).await
    }

    async fn rehearse(&mut self, events: &[Self::Record<'_>]) -> Result<(), store::Error> {
        self.0.rehearse(&rows(events)).await
    }
}

/// The columns of one event, unescaped where needed.
pub(crate) struct Event<'m> {
    record: EventRecord<'m>,
    salt: Salt,
    event_type: Cow<'m, str>,
    agent_id: Cow<'m, str>,
    action: Cow<'m, str>,
    result: Cow<'m, str>,
    severity: Option<Cow<'m, str>>,
    session_id: Option<Cow<'m, str>>,
    trace_id: Option<Cow<'m, str>>,
    decision_id: Option<Cow<'m, str>>,
    source: Option<Cow<'m, str>>,
}

impl<'m> Event<'m> {
    fn read(record: EventRecord<'m>, salt: MessageSalt) -> Result<Self, Unfit> {
        let view = EventView::parse(record.json)
            .map_err(|fault| unfit(&record, format!("the event cannot be read: {fault}")))?;
        let required = |name| view.text(name).unwrap_or_default();
        Ok(Self {
            event_type: required("event_type"),
            agent_id: required("agent_id"),
            action: required("action"),
            result: required("result"),
            severity: view.text("severity"),
            session_id: view.text("session_id"),
            trace_id: view.text("trace_id"),
            decision_id: view.text("decision_id"),
            source: view.text("source"),
            salt: salt.of(record.id.uuid()),
            record,
        })
    }

    fn row(&self) -> EventRow<'_> {
        EventRow {
            org: self.record.org,
            id: self.record.id,
            received_at: self.record.received_at,
            event_type: &self.event_type,
            agent_id: &self.agent_id,
            action: &self.action,
            result: &self.result,
            severity: self.severity.as_deref(),
            session_id: self.session_id.as_deref(),
            trace_id: self.trace_id.as_deref(),
            decision_id: self.decision_id.as_deref(),
            source: self.source.as_deref(),
            json: self.record.json,
            salt: self.salt,
        }
    }
}

fn rows<'e>(events: &'e [Event<'_>]) -> Vec<EventRow<'e>> {
    events.iter().map(Event::row).collect()
}

fn unfit(record: &EventRecord<'_>, reason: String) -> Unfit {
    Unfit {
        what: record.id.to_string(),
        reason,
        message: record::message(record),
    }
}
