//! What an export is written as: what the options say, or else what the name of the file says. The two must agree, because
//! whoever opens the file goes by its name.

use std::path::Path;

use anyhow::ensure;
use clap::ValueEnum;

use crate::exit::usage;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    #[default]
    Ndjson,
    Json,
    Csv,
    Parquet,
    /// A file that proves itself; check it with `watchbell trail verify`.
    Bundle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// What a file is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Encoding {
    pub(super) format: Format,
    /// The server's choice unless it is named: none, or for Parquet its own.
    pub(super) compression: Option<Compression>,
}

impl Format {
    /// As the API and `--format` call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ndjson => "ndjson",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Bundle => "bundle",
        }
    }

    fn of_extension(extension: &str) -> Option<Self> {
        match extension {
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "json" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            "bundle" => Some(Self::Bundle),
            _ => None,
        }
    }
}

impl Compression {
    /// As the API and `--compression` call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    fn of_extension(extension: &str) -> Option<Self> {
        match extension {
            "gz" => Some(Self::Gzip),
            "zst" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// At the end of a file's name.
    fn extension(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
        }
    }
}

impl Encoding {
    /// By the options and the file, if they agree. A name that says nothing, such as `-`, agrees with everything.
    pub(super) fn choose(
        file: Option<&Path>,
        format: Option<Format>,
        compression: Option<Compression>,
    ) -> anyhow::Result<Self> {
        let name = file.and_then(Path::file_name);
        let name = name.map(|name| name.to_string_lossy()).unwrap_or_default();
        let (stem, named_compression) = split(&name, Compression::of_extension);
        let (_, named_format) = split(stem, Format::of_extension);
        let chosen = format.or(named_format).unwrap_or_default();
        ensure!(
            named_format.is_none_or(|named| named == chosen),
            usage(format!(
                "{name} is not a name for --format {}; change the name or leave out --format",
                chosen.name()
            ))
        );
        if chosen == Format::Parquet {
            ensure!(
                named_compression.is_none(),
                usage(format!(
                    "Parquet files are compressed internally; name the file {stem}"
                ))
            );
        } else if let Some(named) = named_compression {
            ensure!(
                compression.is_none_or(|compression| compression == named),
                usage(format!(
                    "{name} is the name of a compressed file; change the name or leave out --compression"
                ))
            );
        } else if named_format.is_some() {
            let extension = compression.map_or("", Compression::extension);
            ensure!(
                extension.is_empty(),
                usage(format!(
                    "{name} is not the name of a compressed file; name it {name}{extension}"
                ))
            );
        }
        Ok(Self {
            format: chosen,
            compression: compression.or(named_compression),
        })
    }
}

/// What is before the extension, and what the extension means; all of it if it means nothing.
fn split<T>(name: &str, meaning: impl Fn(&str) -> Option<T>) -> (&str, Option<T>) {
    let parts = name.rsplit_once('.');
    let known =
        parts.and_then(|(stem, extension)| Some((stem, meaning(&extension.to_lowercase())?)));
    known.map_or((name, None), |(stem, meaning)| (stem, Some(meaning)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(
        file: &str,
        format: Option<Format>,
        compression: Option<Compression>,
    ) -> Result<(&'static str, Option<&'static str>), String> {
        let encoding = Encoding::choose(Some(Path::new(file)), format, compression);
        let names = |encoding: Encoding| {
            (
                encoding.format.name(),
                encoding.compression.map(Compression::name),
            )
        };
        encoding.map(names).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_is_written_as_its_name_says() {
        for (file, format, compression) in [
            ("a.ndjson", "ndjson", None),
            ("a.jsonl", "ndjson", None),
            ("a.json", "json", None),
            ("folder.csv/A.CSV", "csv", None),
            ("a.b.csv.gz", "csv", Some("gzip")),
            ("a.ndjson.zst", "ndjson", Some("zstd")),
            ("a.gz", "ndjson", Some("gzip")),
            ("a.parquet", "parquet", None),
            ("a.txt", "ndjson", None),
            ("csv", "ndjson", None),
            ("-", "ndjson", None),
        ] {
            assert_eq!(
                chosen(file, None, None),
                Ok((format, compression)),
                "{file}"
            );
        }
        assert_eq!(
            chosen("-", Some(Format::Csv), Some(Compression::Gzip)),
            Ok(("csv", Some("gzip")))
        );
        assert_eq!(
            chosen("a.parquet", None, Some(Compression::Zstd)),
            Ok(("parquet", Some("zstd")))
        );
    }

    #[test]
    fn options_that_the_name_contradicts_are_refused() {
        let refused = |file, format, compression| {
            chosen(file, format, compression).expect_err("a contradiction")
        };
        assert_eq!(
            refused("x.csv", Some(Format::Ndjson), None),
            "x.csv is not a name for --format ndjson; change the name or leave out --format"
        );
        assert_eq!(
            refused("x.csv", None, Some(Compression::Gzip)),
            "x.csv is not the name of a compressed file; name it x.csv.gz"
        );
        assert_eq!(
            refused("x.csv.gz", None, Some(Compression::None)),
            "x.csv.gz is the name of a compressed file; change the name or leave out --compression"
        );
        assert_eq!(
            refused("x.parquet.gz", None, None),
            "Parquet files are compressed internally; name the file x.parquet"
        );
    }
}
