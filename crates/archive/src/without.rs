//! A day's file written again without some of its events: they are erased, and the rest stays as it is.

use std::collections::{BTreeSet, HashSet};

use arrow_array::{Array as _, BooleanArray, RecordBatch, cast::AsArray as _};
use domain::{EventId, OrgId};
use futures::TryStreamExt as _;
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{ArrowPredicateFn, RowFilter},
    },
    errors::ParquetError,
};

use crate::{
    Bucket, Error, Events, Finished,
    days::{DayWriter, ID, ROWS_AT_A_TIME, Salt, may_hold, open, texts},
    format::parquet::{EVENT, ORG, SALT},
};

/// What a day's file has beside the events that are to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    pub events: u64,
    /// The oldest and the newest; `None`: there are none.
    pub range: Option<(EventId, EventId)>,
}

/// Whether a day's file has one of an organization's events. Only the ids are read, and only where they may be.
pub async fn has_any(
    bucket: &Bucket,
    (name, noted): (&str, u64),
    org: OrgId,
    ids: &BTreeSet<EventId>,
) -> Result<bool, Error> {
    let broken = |error: ParquetError| Error::broken(name, &error);
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
        return Ok(false);
    };
    let (first, last) = (first.to_string(), last.to_string());
    let org_text = org.to_string();
    let builder = open(bucket, (name, noted)).await?;
    let groups = builder.metadata().row_groups().iter().enumerate();
    let groups = groups.filter(|(_, group)| {
        may_hold(group, ORG, (&org_text, &org_text)) && may_hold(group, ID, (&first, &last))
    });
    let groups = groups.map(|(number, _)| number).collect();
    let columns = ProjectionMask::columns(builder.parquet_schema(), [ORG, ID]);
    let mut rows = builder
        .with_row_groups(groups)
        .with_projection(columns)
        .with_batch_size(ROWS_AT_A_TIME)
        .build()
        .map_err(broken)?;
    while let Some(batch) = rows.try_next().await.map_err(broken)? {
        let keys = keys(&batch, name)?;
        if keys.iter().any(|(of, id)| *of == org && ids.contains(id)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is left of a day's file without these events of an organization.
pub async fn rest(
    bucket: &Bucket,
    (name, noted): (&str, u64),
    org: OrgId,
    ids: &BTreeSet<EventId>,
) -> Result<Rest, Error> {
    let broken = |error: ParquetError| Error::broken(name, &error);
    let builder = open(bucket, (name, noted)).await?;
    let columns = ProjectionMask::columns(builder.parquet_schema(), [ORG, ID]);
    let rows = builder
        .with_projection(columns)
        .with_batch_size(ROWS_AT_A_TIME);
    let mut rows = rows.build().map_err(broken)?;
    let mut rest = Rest::default();
    while let Some(batch) = rows.try_next().await.map_err(broken)? {
        for (of, id) in keys(&batch, name)? {
            if of == org && ids.contains(&id) {
                continue;
            }
            rest.events += 1;
            let (oldest, newest) = rest.range.unwrap_or((id, id));
            rest.range = Some((oldest.min(id), newest.max(id)));
        }
    }
    Ok(rest)
}

/// Writes a day's file again, under another name, without these events of an organization.
pub async fn rewrite(
    bucket: &Bucket,
    (name, noted): (&str, u64),
    (org, ids): (OrgId, &BTreeSet<EventId>),
    new_name: &str,
) -> Result<Finished, Error> {
    let broken = |error: ParquetError| Error::broken(name, &error);
    let mut writer = DayWriter::create(bucket, new_name).await?;
    let builder = open(bucket, (name, noted)).await?;
    let schema = builder.parquet_schema();
    let columns = ProjectionMask::columns(schema, [ORG, EVENT, SALT]);
    let known_by = ProjectionMask::columns(schema, [ORG, ID]);
    let (org, gone) = (org.to_string(), texts_of(ids));
    let stays = ArrowPredicateFn::new(known_by, move |batch| {
        let (orgs, ids) = (texts(&batch, ORG)?, texts(&batch, ID)?);
        let stays = |row| orgs.value(row) != org || !gone.contains(ids.value(row));
        let stays: Vec<bool> = (0..batch.num_rows()).map(stays).collect();
        Ok(BooleanArray::from(stays))
    });
    let mut rows = builder
        .with_projection(columns)
        .with_row_filter(RowFilter::new(vec![Box::new(stays)]))
        .with_batch_size(ROWS_AT_A_TIME)
        .build()
        .map_err(broken)?;
    while let Some(batch) = rows.try_next().await.map_err(broken)? {
        for (org, events, salts) in runs(&batch, name)? {
            writer.write(org, events, salts).await?;
        }
    }
    writer.finish().await
}

fn texts_of(ids: &BTreeSet<EventId>) -> HashSet<String> {
    ids.iter().map(EventId::to_string).collect()
}

/// Whose rows a batch has, and their ids.
fn keys(batch: &RecordBatch, name: &str) -> Result<Vec<(OrgId, EventId)>, Error> {
    let column = |column| texts(batch, column).map_err(|error| Error::broken(name, &error));
    let (orgs, ids) = (column(ORG)?, column(ID)?);
    let key = |row| {
        let org = orgs.value(row).parse();
        let id = ids.value(row).parse();
        org.ok()
            .zip(id.ok())
            .ok_or_else(|| Error::broken(name, &"a row has no id"))
    };
    (0..batch.num_rows()).map(key).collect()
}

/// One organization's rows after the other's.
fn runs(batch: &RecordBatch, name: &str) -> Result<Vec<(OrgId, Events, Vec<Salt>)>, Error> {
    let column = |column| texts(batch, column).map_err(|error| Error::broken(name, &error));
    let (orgs, events) = (column(ORG)?, column(EVENT)?);
    // Files from before there was a log have no such column.
    let salts = batch
        .column_by_name(SALT)
        .and_then(|column| column.as_binary_opt::<i32>());
    let mut runs: Vec<(OrgId, Events, Vec<Salt>)> = Vec::new();
    for row in 0..batch.num_rows() {
        let org: OrgId = orgs
            .value(row)
            .parse()
            .map_err(|_| Error::broken(name, &"a row is nobody's"))?;
        if runs.last().is_none_or(|(of, ..)| *of != org) {
            runs.push((org, Events::default(), Vec::new()));
        }
        let salt = salts.filter(|salts| salts.is_valid(row));
        let salt = salt.and_then(|salts| salts.value(row).try_into().ok());
        if let Some((_, of_run, salts_of_run)) = runs.last_mut() {
            of_run.push(events.value(row));
            salts_of_run.push(salt);
        }
    }
    Ok(runs)
}
