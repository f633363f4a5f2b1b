//! What an export is asked for by: a filter, a format, a compression.

use archive::{Compression, Format};
use domain::{
    error_code::ErrorCode,
    event::{Filter, filter::NotAFilter},
    fault::{Fault, FaultCode},
};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::format::FileFormat;
use crate::{
    edge::{
        Problem,
        enums::{ExportCompression, ExportFormat},
    },
    events::query::FilterParams,
};

/// An export, as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExportRequest {
    pub filter: Filter,
    pub format: FileFormat,
    pub compression: Compression,
    /// Made in the background, as files.
    pub in_background: bool,
}

/// What to export, and how. Filter fields take a string or a list of strings.
#[derive(ToSchema)]
#[schema(as = ExportWanted)]
#[expect(
    dead_code,
    reason = "describes the body; `ExportRequest::read` reads it"
)]
pub struct NewExport {
    /// `ndjson` (the default), `json`, `csv`, `parquet`, or `bundle`: a file that proves itself (`watchbell trail verify`).
    /// It also has delivery attempts, unless there is a filter other than by time, and the policies of decisions, so it
    /// needs the scopes `deliveries:read` and `policies:read`, too.
    #[schema(value_type = Option<ExportFormat>, example = "csv")]
    format: Option<String>,
    /// Compression of the file: `none` (the default), `gzip` or `zstd`. For Parquet, which has its own compression:
    /// `zstd` (the default) or `none`.
    #[schema(value_type = Option<ExportCompression>, example = "gzip")]
    compression: Option<String>,
    /// Make the export in the background, as files; needs the setting `files.url`.
    #[schema(rename = "async")]
    in_background: Option<bool>,
    #[serde(flatten)]
    filter: FilterParams,
}

impl ExportRequest {
    /// Reads the body of a request.
    pub fn read(mut body: Map<String, Value>) -> Result<Self, Problem> {
        let format = choice(
            &mut body,
            "format",
            &FileFormat::ALL.map(|one| (one.as_str(), one)),
        )?;
        let format = format.unwrap_or_default();
        let compressions = Compression::ALL.map(|one| (one.as_str(), one));
        let compression = choice(&mut body, "compression", &compressions)?;
        let compression = match (format, compression) {
            (FileFormat::Events(Format::Parquet), None) => Compression::Zstd,
            (FileFormat::Events(Format::Parquet), Some(Compression::Gzip)) => {
                let detail = "Parquet has its own compression; with it, `compression` must be `zstd` or \
                     `none`.";
                return Err(invalid("compression", detail));
            }
            (_, compression) => compression.unwrap_or_default(),
        };
        let in_background = match body.remove("async") {
            None => false,
            Some(Value::Bool(given)) => given,
            Some(_) => return Err(unread("`async` must be true or false.")),
        };
        Ok(Self {
            filter: filter(&body)?,
            format,
            compression,
            in_background,
        })
    }

    pub fn extension(&self) -> String {
        self.format.extension(self.compression)
    }

    pub fn media_type(&self) -> &'static str {
        let outer = self.format.outer(self.compression);
        outer
            .media_type()
            .unwrap_or_else(|| self.format.media_type())
    }
}

fn choice<T: Copy>(
    body: &mut Map<String, Value>,
    name: &str,
    choices: &[(&str, T)],
) -> Result<Option<T>, Problem> {
    let Some(given) = body.remove(name) else {
        return Ok(None);
    };
    let chosen = choices.iter().find(|(text, _)| given == *text);
    let names = || choices.iter().map(|(text, _)| *text).collect::<Vec<_>>();
    match chosen {
        Some((_, value)) => Ok(Some(*value)),
        None => Err(unread(&format!(
            "`{name}` must be one of {}.",
            names().join(", ")
        ))),
    }
}

/// What is left of the body is the filter; anything else would silently do nothing.
pub(crate) fn filter(fields: &Map<String, Value>) -> Result<Filter, Problem> {
    let filter = Filter::from_json(fields).map_err(|refused| match refused {
        NotAFilter::UnknownField(name) => unread(&format!("`{name}` is not a field of an export.")),
        NotAFilter::NotText(_) => unread(&refused.to_string()),
        NotAFilter::Invalid { field, detail } => invalid(field, &detail),
        NotAFilter::Query { text, error } => {
            Problem::invalid(vec![Fault::of_query("/filter", &text, &error)])
        }
    })?;
    if let (Some(from), Some(to)) = (filter.from, filter.to)
        && from > to
    {
        return Err(invalid("from", "`from` must not be after `to`."));
    }
    Ok(filter)
}

fn unread(detail: &str) -> Problem {
    Problem::new(
        ErrorCode::InvalidBody,
        format!("The body could not be read: {detail}"),
    )
}

fn invalid(field: &str, detail: &str) -> Problem {
    let fault = Fault::new(FaultCode::FieldInvalid, format!("/{field}"), detail);
    Problem::invalid(vec![fault])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: Value) -> Result<ExportRequest, Problem> {
        let Value::Object(body) = body else {
            panic!("an object")
        };
        ExportRequest::read(body)
    }

    #[test]
    fn a_body_is_read_and_what_it_does_not_say_has_a_default() {
        let wanted = read(json!({})).expect("an export");
        assert_eq!(wanted.format, FileFormat::Events(Format::Ndjson));
        assert_eq!(wanted.extension(), "ndjson");
        let wanted =
            read(json!({"format": "csv", "compression": "gzip", "agent_id": ["a", "b"], "q": "X"}));
        let wanted = wanted.expect("an export");
        assert_eq!(wanted.filter.agent_id, ["a", "b"]);
        assert_eq!(wanted.extension(), "csv.gz");
        assert_eq!(wanted.media_type(), "application/gzip");
        let wanted = read(json!({"format": "parquet"})).expect("an export");
        assert_eq!(wanted.compression, Compression::Zstd);
        assert_eq!(wanted.extension(), "parquet");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for body in [
            json!({"format": "xml"}),
            json!({"compression": 7}),
            json!({"color": "red"}),
            json!({"async": "yes"}),
            json!({"agent_id": {"is": "a"}}),
        ] {
            let problem = read(body.clone()).expect_err("refused");
            assert_eq!(problem.code(), ErrorCode::InvalidBody, "{body}");
        }
        for body in [
            json!({"severity": "urgent"}),
            json!({"filter": "results:denied"}),
            json!({"from": "yesterday"}),
            json!({"from": "2026-11-15T00:00:00Z", "to": "2026-11-14T00:00:00Z"}),
            json!({"format": "parquet", "compression": "gzip"}),
        ] {
            let problem = read(body.clone()).expect_err("refused");
            assert_eq!(problem.code(), ErrorCode::ValidationFailed, "{body}");
        }
    }
}
