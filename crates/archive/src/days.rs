//! Days of the trail as files: every organization's events of one day, written once, read by one
//! organization at a time.
//!
//! Rows are ordered by organization and then newest first, which is the order that exports have, so a
//! reader takes an organization's row groups one after the other and never sorts.

use std::{ops::Range, sync::Arc};

use arrow_array::{Array as _, RecordBatch, cast::AsArray as _};
use bytes::Bytes;
use domain::OrgId;
use futures::{FutureExt as _, Stream, TryFutureExt as _, TryStreamExt as _, future::BoxFuture};
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt as _, path::Path};
use parquet::{
    arrow::{
        ParquetRecordBatchStreamBuilder, ProjectionMask,
        arrow_reader::ArrowReaderOptions,
        async_reader::{AsyncFileReader, MetadataSuffixFetch},
    },
    errors::{ParquetError, Result as ParquetResult},
    file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData},
};
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

use crate::{
    Bucket, Error, Events, Finished,
    format::parquet::{EVENT, ORG, Writer},
    upload::FileUpload,
};

/// Rows that are decoded at a time; an event has at most 32 KiB, so at most some 17 MB.
const ROWS_AT_A_TIME: usize = 512;

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

    /// Events of one organization, newest first; organizations come in ascending order.
    pub async fn write(&mut self, org: OrgId, events: Events) -> Result<(), Error> {
        let mut writer = self.writer.take().ok_or(Error::Stopped)?;
        let count = events.len() as u64;
        let written = spawn_blocking(move || {
            let bytes = writer.write_of(org, &events);
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
    let metadata = metadata.map_err(|error| Error::broken(name, &error))?;
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
    let builder = ParquetRecordBatchStreamBuilder::new(reader(bucket, name))
        .await
        .map_err(broken)?;
    let found = builder.metadata().file_metadata().num_rows();
    if u64::try_from(found) != Ok(noted) {
        let problem = format!("it has {found} events, but {noted} were recorded");
        return Err(Error::broken(name, &problem));
    }
    let org = org.to_string();
    let groups = builder.metadata().row_groups().iter().enumerate();
    let groups: Vec<usize> = groups
        .filter(|(_, group)| may_hold(group, &org))
        .map(|(number, _)| number)
        .collect();
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

fn reader(bucket: &Bucket, name: &str) -> Reader {
    Reader {
        store: Arc::clone(&bucket.store),
        path: Path::from(name),
    }
}

/// Fetches the parts of a file that Parquet asks for.
struct Reader {
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

/// Whether the row group's statistics leave room for the organization.
fn may_hold(group: &RowGroupMetaData, org: &str) -> bool {
    let column = group
        .columns()
        .iter()
        .find(|column| column.column_path().string() == ORG);
    let Some(statistics) = column.and_then(|column| column.statistics()) else {
        return true;
    };
    let (smallest, largest) = (statistics.min_bytes_opt(), statistics.max_bytes_opt());
    smallest.is_none_or(|smallest| smallest <= org.as_bytes())
        && largest.is_none_or(|largest| org.as_bytes() <= largest)
}

/// The organization's rows of a batch, which may hold its neighbors' too.
fn of_org(batch: &RecordBatch, org: &str, name: &str) -> Result<Events, Error> {
    let column = |column: &str| {
        let found = batch.column_by_name(column);
        found
            .and_then(|found| found.as_string_opt::<i32>())
            .ok_or_else(|| Error::broken(name, &format!("it has no column {column}")))
    };
    let (orgs, texts) = (column(ORG)?, column(EVENT)?);
    let mut events = Events::default();
    for row in 0..batch.num_rows() {
        if orgs.is_valid(row) && orgs.value(row) == org {
            events.push(texts.value(row));
        }
    }
    Ok(events)
}
