//! Fills the events table from the journal: one task per partition, exactly once.

use std::borrow::Cow;

use domain::event::EventView;
use journal::{
    follow::Entry,
    record::{self, EventRecord},
};
use store::{
    Store,
    events::{EventIndex, EventRow},
    watermark::{Applied, Source, Span},
};

use crate::{
    apply::{self, Sink, readable},
    telemetry::{self, metrics as names},
};

/// Writes the events of a log to the index.
pub(crate) struct Index(EventIndex);

impl Sink for Index {
    async fn open(store: &Store) -> Result<Self, store::Error> {
        store.event_index().await.map(Self)
    }

    async fn apply(
        &mut self,
        source: &Source,
        span: Span,
        entries: &[Entry],
    ) -> Result<Applied, apply::Error> {
        let mut records: Vec<EventRecord<'_>> = Vec::new();
        for entry in entries {
            records.extend(readable("events", entry, record::events)?);
        }
        let fields: Vec<Fields<'_>> = records.iter().filter_map(Fields::read).collect();
        let rows: Vec<EventRow<'_>> = fields.iter().map(Fields::row).collect();
        let applied = self.0.apply(source, span, &rows).await?;
        if applied == Applied::Done {
            metrics::counter!(names::EVENTS_INDEXED).increment(rows.len() as u64);
        }
        Ok(applied)
    }
}

/// The columns of one event, unescaped where needed.
struct Fields<'a> {
    record: &'a EventRecord<'a>,
    event_type: Cow<'a, str>,
    agent_id: Cow<'a, str>,
    action: Cow<'a, str>,
    result: Cow<'a, str>,
    severity: Option<Cow<'a, str>>,
    session_id: Option<Cow<'a, str>>,
    trace_id: Option<Cow<'a, str>>,
    decision_id: Option<Cow<'a, str>>,
}

impl<'a> Fields<'a> {
    fn read(record: &'a EventRecord<'a>) -> Option<Self> {
        let view = match EventView::parse(record.json) {
            Ok(view) => view,
            Err(fault) => {
                telemetry::unreadable("events", record.id, &fault);
                return None;
            }
        };
        let required = |name| view.text(name).unwrap_or_default();
        Some(Self {
            record,
            event_type: required("event_type"),
            agent_id: required("agent_id"),
            action: required("action"),
            result: required("result"),
            severity: view.text("severity"),
            session_id: view.text("session_id"),
            trace_id: view.text("trace_id"),
            decision_id: view.text("decision_id"),
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
            json: self.record.json,
        }
    }
}
