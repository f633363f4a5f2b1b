//! Parquet: a column for each field, and the event as it is stored, so that nothing is lost.
//!
//! A row group is as much as a writer keeps in memory. Days of the trail have two columns more: the organization, whose
//! statistics let a reader skip the row groups of others, and the salt.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{BinaryBuilder, Float64Builder, StringBuilder},
};
use arrow_schema::{DataType, Field, Schema};
use domain::OrgId;
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression as PageCompression, ZstdLevel},
    file::properties::WriterProperties,
};

use crate::{
    Compression, Error, Events,
    columns::{COLUMNS, Kind, cell, view},
};

/// Encoded bytes after which a row group ends: what a writer keeps in memory. Readers gain little
/// from larger ones.
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Rows after which it ends, however small they are: a reader that wants few organizations' rows
/// skips whole groups.
const GROUP_ROWS_MAX: usize = 50_000;

/// The column with the event as it is stored.
pub(crate) const EVENT: &str = "event";
/// The column with the organization, in days of the trail.
pub(crate) const ORG: &str = "org_id";
/// The column with what hides the event from whoever has only its leaf in the transparency log, in days of the trail.
pub(crate) const SALT: &str = "salt";

/// What hides an event; `None` if it was recorded before there was a log.
pub type Salt = Option<[u8; 16]>;

/// Whose events they are, and what hides each.
#[derive(Clone, Copy)]
pub(crate) struct Owned<'s> {
    pub(crate) org: OrgId,
    pub(crate) salts: &'s [Salt],
}

/// A Parquet file in the making.
pub(crate) struct Writer {
    schema: Arc<Schema>,
    arrow: ArrowWriter<Vec<u8>>,
    has_org: bool,
}

impl Writer {
    pub(crate) fn new(compression: Compression) -> Result<Self, Error> {
        Self::with_columns(compression, false)
    }

    /// With the organization in front of the other columns, and the salt behind them.
    pub(crate) fn with_org() -> Result<Self, Error> {
        Self::with_columns(Compression::Zstd, true)
    }

    fn with_columns(compression: Compression, has_org: bool) -> Result<Self, Error> {
        let org = has_org.then(|| Field::new(ORG, DataType::Utf8, false));
        let fields = COLUMNS.iter().map(|(name, kind)| {
            let data_type = match kind {
                Kind::Number => DataType::Float64,
                Kind::Text | Kind::Json => DataType::Utf8,
            };
            Field::new(*name, data_type, true)
        });
        let event = Field::new(EVENT, DataType::Utf8, false);
        let salt = has_org.then(|| Field::new(SALT, DataType::Binary, true));
        let schema = Arc::new(Schema::new(
            org.into_iter()
                .chain(fields)
                .chain([event])
                .chain(salt)
                .collect::<Vec<_>>(),
        ));
        let pages = match compression {
            Compression::None => PageCompression::UNCOMPRESSED,
            Compression::Gzip | Compression::Zstd => PageCompression::ZSTD(ZstdLevel::default()),
        };
        let properties = WriterProperties::builder()
            .set_compression(pages)
            .set_max_row_group_row_count(Some(GROUP_ROWS_MAX))
            .build();
        let arrow = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties))?;
        Ok(Self {
            schema,
            arrow,
            has_org,
        })
    }

    pub(crate) fn write(&mut self, events: &Events) -> Result<Vec<u8>, Error> {
        self.write_batch(None, events)
    }

    /// Events of one organization.
    pub(crate) fn write_of(&mut self, owned: Owned<'_>, events: &Events) -> Result<Vec<u8>, Error> {
        self.write_batch(Some(owned), events)
    }

    fn write_batch(&mut self, owned: Option<Owned<'_>>, events: &Events) -> Result<Vec<u8>, Error> {
        debug_assert_eq!(owned.is_some(), self.has_org);
        if !events.is_empty() {
            let columns = columns(owned, events);
            let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)
                .map_err(parquet::errors::ParquetError::from)?;
            self.arrow.write(&batch)?;
            if self.arrow.in_progress_size() >= GROUP_BYTES_MAX {
                self.arrow.flush()?;
            }
        }
        Ok(std::mem::take(self.arrow.inner_mut()))
    }

    /// The last row group and the footer, without which the file does not open.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, Error> {
        self.arrow.finish()?;
        Ok(std::mem::take(self.arrow.inner_mut()))
    }
}

fn columns(owned: Option<Owned<'_>>, events: &Events) -> Vec<ArrayRef> {
    let views: Vec<_> = events.iter().map(view).collect();
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(COLUMNS.len() + 3);
    if let Some(Owned { org, .. }) = owned {
        let org = org.to_string();
        let mut texts = StringBuilder::with_capacity(events.len(), events.len() * org.len());
        events.iter().for_each(|_| texts.append_value(&org));
        columns.push(Arc::new(texts.finish()));
    }
    for (name, kind) in COLUMNS {
        let cells = views.iter().map(|event| cell(event, name, kind));
        columns.push(match kind {
            Kind::Number => {
                let mut numbers = Float64Builder::with_capacity(events.len());
                cells.for_each(|cell| {
                    numbers.append_option(cell.and_then(|text| text.parse().ok()));
                });
                Arc::new(numbers.finish())
            }
            Kind::Text | Kind::Json => {
                let mut texts = StringBuilder::new();
                cells.for_each(|cell| texts.append_option(cell));
                Arc::new(texts.finish())
            }
        });
    }
    let mut texts = StringBuilder::with_capacity(events.len(), events.bytes());
    events.iter().for_each(|event| texts.append_value(event));
    columns.push(Arc::new(texts.finish()));
    if let Some(Owned { salts, .. }) = owned {
        let mut column = BinaryBuilder::new();
        let salts = salts.iter().copied().chain(std::iter::repeat(None));
        salts
            .take(events.len())
            .for_each(|salt| column.append_option(salt));
        columns.push(Arc::new(column.finish()));
    }
    columns
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array as _, cast::AsArray as _, types::Float64Type};
    use bytes::Bytes;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: Vec<u8>) -> Vec<RecordBatch> {
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).expect("Parquet");
        let reader = builder.build().expect("a reader");
        reader.map(|batch| batch.expect("rows")).collect()
    }

    #[test]
    fn columns_hold_what_the_event_says() {
        let json = r#"{"id":"evt_1","agent_id":"a\"b","latency_ms":1e2,"metadata":{"n": 1.00}}"#;
        let mut events = Events::default();
        events.push(json);
        let mut writer = Writer::new(Compression::Zstd).expect("a writer");
        let mut bytes = writer.write(&events).expect("bytes");
        bytes.extend(writer.finish().expect("an end"));
        let batch = &read(bytes)[0];
        let text = |name: &str| {
            let column = batch.column_by_name(name).expect("a column");
            let column = column.as_string::<i32>();
            column.is_valid(0).then(|| column.value(0).to_owned())
        };
        assert_eq!(text("agent_id").as_deref(), Some("a\"b"));
        assert_eq!(text("metadata").as_deref(), Some(r#"{"n": 1.00}"#));
        assert_eq!(text("severity"), None);
        assert_eq!(text(EVENT).as_deref(), Some(json));
        let latency = batch.column_by_name("latency_ms").expect("a column");
        assert_eq!(
            latency.as_primitive::<Float64Type>().value(0).to_bits(),
            100f64.to_bits()
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn what_is_written_reads_back(
            batches in prop::collection::vec(prop::collection::vec("[a-z ]{0,40}", 0..20), 0..6),
            compression in prop::sample::select(vec![Compression::None, Compression::Zstd]),
        ) {
            let mut writer = Writer::new(compression).expect("a writer");
            let (mut bytes, mut written) = (Vec::new(), Vec::new());
            for batch in batches {
                let mut events = Events::default();
                for agent in batch {
                    let json = format!(r#"{{"agent_id":"{agent}"}}"#);
                    events.push(&json);
                    written.push((agent, json));
                }
                bytes.extend(writer.write(&events).expect("bytes"));
            }
            bytes.extend(writer.finish().expect("an end"));
            let mut found = Vec::new();
            for batch in read(bytes) {
                let column = |name| batch.column_by_name(name).expect("a column").as_string::<i32>();
                for row in 0..batch.num_rows() {
                    let (agent, event) = (column("agent_id").value(row), column(EVENT).value(row));
                    found.push((agent.to_owned(), event.to_owned()));
                }
            }
            prop_assert_eq!(found, written);
        }
    }
}
