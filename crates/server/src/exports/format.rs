//! What a file of an export is: events in one of several formats, or the trail with its proof.

use archive::{Compression, Format};

/// How an export is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    Events(Format),
    /// The log's leaves and what they commit to: a file that proves itself.
    Bundle,
}

impl FileFormat {
    pub(crate) const ALL: [Self; 5] = [
        Self::Events(Format::Ndjson),
        Self::Events(Format::Json),
        Self::Events(Format::Csv),
        Self::Events(Format::Parquet),
        Self::Bundle,
    ];

    /// Its name in requests, and what the file's name ends with.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Events(format) => format.as_str(),
            Self::Bundle => "bundle",
        }
    }

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Events(format) => format.media_type(),
            Self::Bundle => Format::Ndjson.media_type(),
        }
    }

    /// The compression of the file around the format.
    pub(crate) fn outer(self, compression: Compression) -> Compression {
        match self {
            Self::Events(format) => format.outer(compression),
            Self::Bundle => compression,
        }
    }

    /// What a file's name ends with, after the dot.
    pub(crate) fn extension(self, compression: Compression) -> String {
        format!("{}{}", self.as_str(), self.outer(compression).suffix())
    }
}

impl Default for FileFormat {
    fn default() -> Self {
        Self::Events(Format::default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use utoipa::PartialSchema as _;

    use super::*;
    use crate::edge::enums::ExportFormat;

    #[test]
    fn the_api_document_names_every_format() {
        let schema = serde_json::to_value(ExportFormat::schema()).expect("JSON");
        assert_eq!(
            schema["enum"],
            json!(FileFormat::ALL.map(FileFormat::as_str))
        );
    }
}
