//! The formats a file of events can have.

mod csv;
mod json;
mod ndjson;
pub(crate) mod parquet;

use sha2::Sha256;

use crate::{Compression, Error, Events};

/// How events are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Ndjson,
    Json,
    Csv,
    Parquet,
}

impl Format {
    pub const ALL: [Self; 4] = [Self::Ndjson, Self::Json, Self::Csv, Self::Parquet];

    /// Its name in requests, and what the file's name ends with.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ndjson => "ndjson",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Json => "application/json",
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Parquet => "application/vnd.apache.parquet",
        }
    }

    /// The compression of the file around the format. Parquet compresses its pages itself, and a
    /// reader must be able to begin at its end, so nothing is put around it.
    pub fn outer(self, compression: Compression) -> Compression {
        match self {
            Self::Parquet => Compression::None,
            Self::Ndjson | Self::Json | Self::Csv => compression,
        }
    }
}

/// A file in the making.
pub(crate) enum Writer {
    Ndjson,
    Json(json::Writer),
    Csv(csv::Writer),
    Parquet(Box<parquet::Writer>),
}

impl Writer {
    pub(crate) fn new(format: Format, compression: Compression) -> Result<Self, Error> {
        Ok(match format {
            Format::Ndjson => Self::Ndjson,
            Format::Json => Self::Json(json::Writer::default()),
            Format::Csv => Self::Csv(csv::Writer::default()),
            Format::Parquet => Self::Parquet(Box::new(parquet::Writer::new(compression)?)),
        })
    }

    /// The bytes that follow; they may lag behind what was given.
    pub(crate) fn write(&mut self, events: Events) -> Result<Vec<u8>, Error> {
        match self {
            Self::Ndjson => Ok(events.into_lines()),
            Self::Json(writer) => Ok(writer.write(&events)),
            Self::Csv(writer) => Ok(writer.write(&events)),
            Self::Parquet(writer) => writer.write(&events),
        }
    }

    /// The last bytes. `events` have been written, and `content` has digested their bytes.
    pub(crate) fn finish(self, events: u64, content: &Sha256) -> Result<Vec<u8>, Error> {
        match self {
            Self::Ndjson => Ok(ndjson::last_line(events, content)),
            Self::Json(writer) => Ok(writer.finish(events, content)),
            Self::Csv(writer) => Ok(writer.finish()),
            Self::Parquet(writer) => writer.finish(),
        }
    }
}
