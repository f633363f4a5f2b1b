//! Days of the trail as files: every organization's events of one day, written once, read by one
//! organization at a time.
//!
//! Rows are ordered by organization and then newest first, which is the order that exports have, so a
//! reader takes an organization's row groups one after the other and never sorts.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use arrow_array::{Array as _, BooleanArray, RecordBatch, StringArray, cast::AsArray as _};
use arrow_schema::ArrowError;
use bytes::Bytes;
use domain::{EventId, OrgId};
use futures::{FutureExt as _, Stream, TryFutureExt as _, TryStreamExt as _, future::BoxFuture};
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt as _, path::Path};
use parquet::{
    arrow::{
        ParquetRecordBatchStreamBuilder, ProjectionMask,
        arrow_reader::{ArrowPredicateFn, ArrowReaderOptions, RowFilter},
        async_reader::{AsyncFileReader, MetadataSuffixFetch},
    },
    errors::{ParquetError, Result as ParquetResult},
    file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData},
};
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

use crate::{
    Bucket, Error, Events, Finished,
    format::parquet::{EVENT, ORG, Owned, SALT, Writer},
    upload::FileUpload,
};

pub use crate::format::parquet::Salt;

/// The column with the event's id, as text.
pub(crate) const ID: &str = "id";

/// Rows that are decoded at a time; an event has at most 32 KiB, so at most some 17 MB.
pub(crate) const ROWS_AT_A_TIME: usize = 512;

/// A day on its way into a file.
pub struct DayWriter {
    /// Away while a blocking thread encodes.
    writer: Option<Writer>,
    upload: FileUpload,
    digest: Sha256,
    events: u64,
    bytes: u64,
}

impl DayWriter {
    pub async fn create(bucket: &Bucket, name: &str) -> Result<Self, Error> {
        Ok(Self {
            writer: Some(Writer::with_org()?),
            upload: bucket.create(name).await?,
            digest: Sha256::new(),
            events: 0,
            bytes: 0,
        })
    }

    /// Events of one organization, newest first, and what hides each; organizations come in ascending order.
    pub async fn write(
        &mut self,
        org: OrgId,
        events: Events,
        salts: Vec<Salt>,
    ) -> Result<(), Error> {
        let mut writer = self.writer.take().ok_or(Error::Stopped)?;
        let count = events.len() as u64;
        let written = spawn_blocking(move || {
            let salts = &salts;
            let bytes = writer.write_of(Owned { org, salts }, &events);
            (writer, bytes)
        });
        let (writer, bytes) = written.await.map_err(|_| Error::Stopped)?;
        self.writer = Some(writer);
        self.events += count;
        self.send(bytes?).await
    }

    pub async fn finish(mut self) -> Result<Finished, Error> {
        let writer = self.writer.take().ok_or(Error::Stopped)?;
        let end = spawn_blocking(move || writer.finish()).await;
        self.send(end.map_err(|_| Error::Stopped)??).await?;
        self.upload.finish().await?;
        Ok(Finished {
            events: self.events,
            bytes: self.bytes,
            sha256: hex::encode(self.digest.finalize()),
        })
    }

    async fn send(&mut self, bytes: Vec<u8>) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.digest.update(&bytes);
        self.bytes += bytes.len() as u64;
        self.upload.write(Bytes::from(bytes)).await
    }
}

/// How many events a day's file has, by its footer.
pub async fn count(bucket: &Bucket, name: &str) -> Result<u64, Error> {
    let metadata = reader(bucket, name).get_metadata(None).await;
    let metadata = metadata.map_err(|error| Error::unread(name, &error))?;
    let rows = metadata.file_metadata().num_rows();
    u64::try_from(rows).map_err(|error| Error::broken(name, &error))
}

/// One organization's events in a day's file, newest first, a few at a time. A file that does not have
/// as many events as were noted, of all organizations, is not read: it is not the one that was noted.
pub async fn read(
    bucket: &Bucket,
    (name, noted): (&str, u64),
    org: OrgId,
) -> Result<impl Stream<Item = Result<Events, Error>> + Send + Unpin + use<>, Error> {
    let broken = |error: ParquetError| Error::broken(name, &error);
    let builder = open(bucket, (name, noted)).await?;
    let org = org.to_string();
    let groups = groups(&builder, |group| may_hold(group, ORG, (&org, &org)));
    let columns = ProjectionMask::columns(builder.parquet_schema(), [ORG, EVENT]);
    let rows = builder
        .with_row_groups(groups)
        .with_projection(columns)
        .with_batch_size(ROWS_AT_A_TIME)
        .build()
        .map_err(broken)?;
    let name = name.to_owned();
    let events = rows
        .map_err({
            let name = name.clone();
            move |error| Error::broken(&name, &error)
        })
        .and_then(move |batch| std::future::ready(of_org(&batch, &org, &name)));
    Ok(Box::pin(events))
}

/// An event as a day's file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub event: String,
    pub salt: Salt,
}

/// Those of an organization's events with these ids that a day's file has. Of the other rows only the ids are read, and only
/// where they may be.
pub async fn find(
    bucket: &Bucket,
    (name, noted): (&str, u64),
    org: OrgId,
    ids: &[EventId],
) -> Result<HashMap<EventId, Found>, Error> {
    let broken = |error: ParquetError| Error::broken(name, &error);
    let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else {
        return Ok(HashMap::new());
    };
    let (first, last) = (first.to_string(), last.to_string());
    let wanted: HashSet<String> = ids.iter().map(EventId::to_string).collect();
    let org = org.to_string();
    let builder = open(bucket, (name, noted)).await?;
    let groups = groups(&builder, |group| {
        may_hold(group, ORG, (&org, &org)) && may_hold(group, ID, (&first, &last))
    });
    let schema = builder.parquet_schema();
    let columns = ProjectionMask::columns(schema, [ID, EVENT, SALT]);
    let known_by = ProjectionMask::columns(schema, [ORG, ID]);
    let is_wanted = ArrowPredicateFn::new(known_by, move |batch| {
        let (orgs, ids) = (texts(&batch, ORG)?, texts(&batch, ID)?);
        let is_wanted = |row| orgs.value(row) == org && wanted.contains(ids.value(row));
        let is_wanted: Vec<bool> = (0..batch.num_rows()).map(is_wanted).collect();
        Ok(BooleanArray::from(is_wanted))
    });
    let rows = builder
        .with_row_groups(groups)
        .with_projection(columns)
        .with_row_filter(RowFilter::new(vec![Box::new(is_wanted)]))
        .with_batch_size(ROWS_AT_A_TIME)
        .build()
        .map_err(broken)?;
    let batches: Vec<RecordBatch> = rows.try_collect().await.map_err(broken)?;
    let mut found = HashMap::new();
    for batch in &batches {
        let of_batch = |column| texts(batch, column).map_err(|error| broken(error.into()));
        let (ids, events) = (of_batch(ID)?, of_batch(EVENT)?);
        // Files from before there was a log have no such column.
        let salts = batch
            .column_by_name(SALT)
            .and_then(|column| column.as_binary_opt::<i32>());
        for row in 0..batch.num_rows() {
            let Ok(id) = ids.value(row).parse() else {
                continue;
            };
            let salt = salts.filter(|salts| salts.is_valid(row));
            let salt = salt.and_then(|salts| salts.value(row).try_into().ok());
            let event = events.value(row).to_owned();
            found.insert(id, Found { event, salt });
        }
    }
    Ok(found)
}

/// A day's file, if it is the one that was noted.
pub(crate) async fn open(
    bucket: &Bucket,
    (name, noted): (&str, u64),
) -> Result<ParquetRecordBatchStreamBuilder<Reader>, Error> {
    let builder = ParquetRecordBatchStreamBuilder::new(reader(bucket, name)).await;
    let builder = builder.map_err(|error| Error::unread(name, &error))?;
    let found = builder.metadata().file_metadata().num_rows();
    if u64::try_from(found) != Ok(noted) {
        let problem = format!("it has {found} events, but {noted} were recorded");
        return Err(Error::broken(name, &problem));
    }
    Ok(builder)
}

/// The row groups that are worth a look.
fn groups(
    builder: &ParquetRecordBatchStreamBuilder<Reader>,
    may_hold: impl Fn(&RowGroupMetaData) -> bool,
) -> Vec<usize> {
    let groups = builder.metadata().row_groups().iter().enumerate();
    let worth = groups.filter(|(_, group)| may_hold(group));
    worth.map(|(number, _)| number).collect()
}

fn reader(bucket: &Bucket, name: &str) -> Reader {
    Reader {
        store: Arc::clone(&bucket.store),
        path: Path::from(name),
    }
}

/// Fetches the parts of a file that Parquet asks for.
pub(crate) struct Reader {
    store: Arc<dyn ObjectStore>,
    path: Path,
}

fn unread(error: object_store::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

impl AsyncFileReader for Reader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        let part = self.store.get_range(&self.path, range);
        part.map_err(unread).boxed()
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        async move {
            let parts = self.store.get_ranges(&self.path, &ranges).await;
            parts.map_err(unread)
        }
        .boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        async move {
            let metadata = ParquetMetaDataReader::new()
                .with_arrow_reader_options(options)
                .load_via_suffix_and_finish(self)
                .await?;
            Ok(Arc::new(metadata))
        }
        .boxed()
    }
}

impl MetadataSuffixFetch for &mut Reader {
    fn fetch_suffix(&mut self, suffix: usize) -> BoxFuture<'_, ParquetResult<Bytes>> {
        async move {
            let options = GetOptions {
                range: Some(GetRange::Suffix(suffix as u64)),
                ..GetOptions::default()
            };
            let found = self.store.get_opts(&self.path, options).await;
            found.map_err(unread)?.bytes().await.map_err(unread)
        }
        .boxed()
    }
}

/// Whether the row group's statistics leave room for a value from the first to the last.
pub(crate) fn may_hold(
    group: &RowGroupMetaData,
    column: &str,
    (first, last): (&str, &str),
) -> bool {
    let column = group
        .columns()
        .iter()
        .find(|one| one.column_path().string() == column);
    let Some(statistics) = column.and_then(|column| column.statistics()) else {
        return true;
    };
    let (smallest, largest) = (statistics.min_bytes_opt(), statistics.max_bytes_opt());
    smallest.is_none_or(|smallest| smallest <= last.as_bytes())
        && largest.is_none_or(|largest| first.as_bytes() <= largest)
}

/// The organization's rows of a batch, which may hold its neighbors' too.
fn of_org(batch: &RecordBatch, org: &str, name: &str) -> Result<Events, Error> {
    let column = |column| texts(batch, column).map_err(|error| Error::broken(name, &error));
    let (orgs, texts) = (column(ORG)?, column(EVENT)?);
    let mut events = Events::default();
    for row in 0..batch.num_rows() {
        if orgs.is_valid(row) && orgs.value(row) == org {
            events.push(texts.value(row));
        }
    }
    Ok(events)
}

pub(crate) fn texts<'b>(
    batch: &'b RecordBatch,
    column: &str,
) -> Result<&'b StringArray, ArrowError> {
    let found = batch.column_by_name(column);
    found
        .and_then(|found| found.as_string_opt::<i32>())
        .ok_or_else(|| ArrowError::SchemaError(format!("it has no column {column}")))
}
