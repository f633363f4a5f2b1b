//! Applies events to the store, with the position in the journal that they came from.

use std::collections::{BTreeSet, HashSet};

use domain::{Day, EventId, OrgId, Timestamp, partition::Partitions};
use sqlx::{Connection, Postgres, Transaction};
use trail_proof::leaf::Salt;

use super::{
    counts::Tally,
    write::{self, Way},
};
use crate::{
    Error, Store,
    deletions::tombstones,
    disobeyed_decisions,
    erasures::tombstones as erased_events,
    partitions::{self, Table},
    transparency::outbox,
    watermark::{Applied, Source, Span},
    writer::{Purpose, Writer},
};

/// One event as it is indexed.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow<'a> {
    pub org: OrgId,
    pub id: EventId,
    pub received_at: Timestamp,
    pub event_type: &'a str,
    pub agent_id: &'a str,
    pub action: &'a str,
    pub result: &'a str,
    pub severity: Option<&'a str>,
    pub session_id: Option<&'a str>,
    pub trace_id: Option<&'a str>,
    pub decision_id: Option<&'a str>,
    /// `None` if it was recorded before events said who wrote them.
    pub source: Option<&'a str>,
    pub json: &'a str,
    /// Hides it from those who have only its leaf in the transparency log.
    pub salt: Salt,
}

/// Writes events through a connection of its own, where COPY has a staging table.
#[derive(Debug)]
pub struct EventIndex {
    pub writer: Writer,
    days: BTreeSet<Day>,
    transparency: Option<Partitions>,
}

impl Store {
    pub async fn event_index(&self) -> Result<EventIndex, Error> {
        let mut writer = self.writer().await?;
        sqlx::query(write::STAGING_TABLE)
            .execute(&mut writer.connection)
            .await?;
        Ok(EventIndex {
            writer,
            days: BTreeSet::new(),
            transparency: self.transparency,
        })
    }
}

impl EventIndex {
    /// Applies a span of the event log: rows, counts and position together, or nothing.
    pub async fn apply(
        &mut self,
        source: &Source,
        span: Span,
        rows: &[EventRow<'_>],
    ) -> Result<Applied, Error> {
        self.run(Purpose::Apply(source, span), rows).await
    }

    /// Writes the events of a dead letter that are not there yet, and counts them.
    pub async fn redrive(&mut self, place: &str, rows: &[EventRow<'_>]) -> Result<(), Error> {
        self.run(Purpose::Redrive(place), rows).await.map(|_| ())
    }

    /// Whether these events would be written. None is.
    pub async fn rehearse(&mut self, rows: &[EventRow<'_>]) -> Result<(), Error> {
        self.run(Purpose::Rehearse, rows).await.map(|_| ())
    }

    async fn run(&mut self, purpose: Purpose<'_>, rows: &[EventRow<'_>]) -> Result<Applied, Error> {
        let way = match purpose {
            Purpose::Apply(..) => Way::Straight,
            Purpose::Redrive(_) | Purpose::Rehearse => Way::Checked,
        };
        match self.run_once(purpose, rows, way).await {
            Err(Error::Conflict) => self.run_once(purpose, rows, Way::Checked).await,
            // PostgreSQL says the same of a row whose day was dropped since we saw it.
            Err(error) if error.refuses_data() && !self.days.is_empty() => {
                self.days.clear();
                self.run_once(purpose, rows, Way::Checked).await
            }
            outcome => outcome,
        }
    }

    async fn run_once(
        &mut self,
        purpose: Purpose<'_>,
        rows: &[EventRow<'_>],
        way: Way,
    ) -> Result<Applied, Error> {
        let mut transaction = self.writer.connection.begin().await?;
        if let Some(applied) = purpose.claim(&mut transaction).await? {
            return Ok(applied);
        }
        let seen = save(&mut transaction, rows, way, &self.days, self.transparency).await?;
        purpose.end(transaction).await?;
        // A rehearsal leaves no day behind either.
        if !matches!(purpose, Purpose::Rehearse) {
            self.days.extend(seen);
        }
        Ok(Applied::Done)
    }
}

/// Writes rows and their leaves, counts them and notes decisions that they say were not obeyed; returns the days it has seen
/// or made, which are there for others once the transaction is. Events that were erased, or whose organizations were deleted,
/// are left out.
async fn save(
    transaction: &mut Transaction<'_, Postgres>,
    rows: &[EventRow<'_>],
    way: Way,
    known: &BTreeSet<Day>,
    transparency: Option<Partitions>,
) -> Result<BTreeSet<Day>, Error> {
    let left = left(transaction, rows).await?;
    let rows = left.as_deref().unwrap_or(rows);
    if rows.is_empty() {
        return Ok(BTreeSet::new());
    }
    let keys = rows.iter().map(|row| row.id.uuid());
    let seen = partitions::ensure(transaction, Table::AuditEvents, keys, known).await?;
    let (mut written, mut tally) = (Vec::with_capacity(rows.len()), Tally::default());
    write::write(transaction, rows, way, |(number, row)| {
        let leaf = transparency.map(|_| row.leaf());
        written.push((number, row, leaf));
        tally.add(row);
    })
    .await?;
    // The log has them in the journal's order, whatever the way that each was written.
    written.sort_by_key(|(number, ..)| *number);
    if let Some(partitions) = transparency {
        let leaves = written.iter();
        let leaves = leaves.filter_map(|(_, row, leaf)| Some((row.org, (*leaf)?)));
        outbox::put(transaction, partitions, leaves).await?;
    }
    let written: Vec<&EventRow<'_>> = written.iter().map(|(_, row, _)| *row).collect();
    disobeyed_decisions::note(transaction, &written).await?;
    tally.save(transaction).await?;
    Ok(seen)
}

/// What is left to be written; `None`: all of it.
async fn left<'e>(
    transaction: &mut Transaction<'_, Postgres>,
    rows: &[EventRow<'e>],
) -> Result<Option<Vec<EventRow<'e>>>, Error> {
    let marks = tombstones::marks_of(transaction, rows.iter().map(|row| row.org)).await?;
    let in_question: Vec<&EventRow<'_>> = rows
        .iter()
        .filter(|row| marks.erasing.contains(&row.org))
        .collect();
    let erased = if in_question.is_empty() {
        HashSet::new()
    } else {
        erased_events::among(transaction, &in_question).await?
    };
    if marks.deleted.is_empty() && erased.is_empty() {
        return Ok(None);
    }
    let is_left = |row: &&EventRow<'_>| {
        !marks.deleted.contains(&row.org) && !erased.contains(&(row.org, row.id))
    };
    Ok(Some(rows.iter().filter(is_left).cloned().collect()))
}
