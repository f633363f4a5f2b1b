//! Reads the settings; the only place that reads the environment.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use config::{Environment, File, FileFormat};
use serde::{Deserialize, Deserializer, de};

use super::Config;

/// `WATCHBELL__SECTION__KEY` sets `section.key`.
const PREFIX: &str = "WATCHBELL";
const SEPARATOR: &str = "__";
/// `WATCHBELL__SECTION__KEY_FILE` names a file that holds the value: secrets stay out of the
/// environment.
const FILE_SUFFIX: &str = "_FILE";

/// The settings from `file` (if given) and the environment over it.
pub fn load(file: Option<&Path>) -> anyhow::Result<Config> {
    load_from(file, environment())
}

fn load_from(file: Option<&Path>, variables: HashMap<String, String>) -> anyhow::Result<Config> {
    let mut builder = config::Config::builder();
    if let Some(path) = file {
        let text = fs::read_to_string(path)
            .with_context(|| format!("read the configuration file {}", path.display()))?;
        builder = builder.add_source(File::from_str(&text, FileFormat::Toml));
    }
    let environment = Environment::with_prefix(PREFIX)
        .prefix_separator(SEPARATOR)
        .separator(SEPARATOR)
        .source(Some(with_files_read(variables)?));
    let config: Config = builder
        .add_source(environment)
        .build()
        .and_then(config::Config::try_deserialize)
        .context("read the configuration")?;
    config.check().context("check the configuration")?;
    Ok(config)
}

/// Replaces each `..._FILE` by the contents of the file it names.
fn with_files_read(variables: HashMap<String, String>) -> anyhow::Result<HashMap<String, String>> {
    let mut settled = HashMap::new();
    for (name, value) in variables {
        let (name, value) = match name.strip_suffix(FILE_SUFFIX) {
            None => (name, value),
            Some(setting) => {
                let text = fs::read_to_string(&value)
                    .with_context(|| format!("read {value}, the file that {name} names"))?;
                (
                    setting.to_owned(),
                    text.trim_end_matches(['\r', '\n']).to_owned(),
                )
            }
        };
        if settled.insert(name.clone(), value).is_some() {
            bail!("{name} and {name}{FILE_SUFFIX} are both set; keep one");
        }
    }
    Ok(settled)
}

/// Our variables. One that is not UTF-8 is left out and then missed where it is needed.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
fn environment() -> HashMap<String, String> {
    let ours = format!("{PREFIX}{SEPARATOR}");
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with(&ours))
        .collect()
}

/// Whether the standard variables ask for traces; the exporter reads the rest of them itself.
pub fn otel_is_configured() -> bool {
    let set = |name| standard_variable(name).is_some_and(|value| !value.is_empty());
    let refused = standard_variable("OTEL_SDK_DISABLED").is_some_and(|value| value == "true")
        || standard_variable("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
    !refused && (set("OTEL_EXPORTER_OTLP_ENDPOINT") || set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"))
}

/// A variable that is not ours (`OTEL_*`, `XDG_*`, `PATH`).
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
pub fn standard_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Where programs are looked for.
pub fn search_path() -> OsString {
    standard_variable("PATH").unwrap_or_default()
}

/// The user's home folder.
pub fn home() -> PathBuf {
    standard_variable("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from)
}

/// A list in the file, or values separated by commas in the environment.
pub(super) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        List(Vec<String>),
        Text(String),
    }
    let texts = match Form::deserialize(deserializer)? {
        Form::List(texts) => texts,
        Form::Text(text) => text.split(',').map(|one| one.trim().to_owned()).collect(),
    };
    let given = texts.iter().filter(|text| !text.is_empty());
    given
        .map(|text| {
            text.parse()
                .map_err(|error| de::Error::custom(format!("`{text}`: {error}")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use secrecy::ExposeSecret as _;

    use super::*;

    fn from_environment(pairs: &[(&str, &str)]) -> anyhow::Result<Config> {
        let variables = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        load_from(None, variables.collect())
    }

    fn from_file(text: &str) -> anyhow::Result<Config> {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(text.as_bytes())?;
        load_from(Some(file.path()), HashMap::new())
    }

    #[test]
    fn the_environment_wins_over_the_file_and_keeps_texts_as_they_are() {
        let config = from_environment(&[
            ("WATCHBELL__HTTP__LISTEN", "127.0.0.1:9999"),
            ("WATCHBELL__DELIVERY__SIGNING_SECRET", "007"),
            ("WATCHBELL__DELIVERY__ALLOW_HTTP", "true"),
            ("WATCHBELL__DELIVERY__ALLOW_CIDRS", "127.0.0.0/8, ::1/128"),
            ("WATCHBELL__JOURNAL__PARTITIONS", "2"),
        ])
        .expect("valid");
        assert_eq!(config.http.listen.port(), 9_999);
        assert_eq!(
            config.delivery.signing_secret.expect("set").expose_secret(),
            "007"
        );
        assert!(config.delivery.allow_http);
        assert_eq!(config.delivery.allow_cidrs.len(), 2);
        assert_eq!(config.journal.partitions, 2);
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_it() {
        for unknown in [
            from_environment(&[("WATCHBELL__HTTP__PORT", "x")]),
            from_file("[http]\nport = 1"),
            from_file("[nonsense]\na = 1"),
        ] {
            let error = format!("{:#}", unknown.expect_err("unknown"));
            assert!(
                error.contains("port") || error.contains("nonsense"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_secret_can_come_from_a_file_but_not_from_two_places() {
        let mut file = tempfile::NamedTempFile::new().expect("file");
        writeln!(file, "whsec_abc").expect("write");
        let path = file.path().to_str().expect("UTF-8");
        let config =
            from_environment(&[("WATCHBELL__DELIVERY__SIGNING_SECRET_FILE", path)]).expect("valid");
        assert_eq!(
            config.delivery.signing_secret.expect("set").expose_secret(),
            "whsec_abc"
        );
        let twice = from_environment(&[
            ("WATCHBELL__DELIVERY__SIGNING_SECRET_FILE", path),
            ("WATCHBELL__DELIVERY__SIGNING_SECRET", "x"),
        ]);
        assert!(twice.is_err());
    }

    #[test]
    fn a_value_that_cannot_work_is_refused_before_anything_starts() {
        for text in [
            "[journal]\npartitions = 0",
            "[journal]\nnamespace = \"a.b\"",
            "[journal]\nreplicas = 2",
            "[delivery]\nsigning_secret = \"\"",
            "[delivery]\nallow_cidrs = [\"everything\"]",
            "[delivery]\nconcurrency_per_host = 0",
            "[delivery]\nendpoint_ownership = \"sometimes\"",
            "[http]\npublic_url = \"watchbell.example.com\"",
            "[mail]\nsmtp_url = \"mail.example.com\"",
            "[mail]\nsmtp_url = \"smtp://mail.example.com?tls=perhaps\"",
            "[mail]\nfrom = \"nobody\"",
            "[accounts]\noperators = [\"ann\"]",
            "[accounts]\ndeletion_delay_days = 400",
            "[console]\nreceiver_url = \"localhost:9000\"",
            "[transparency]\nwitnesses = [\"https://witness.example.com\"]",
        ] {
            assert!(from_file(text).is_err(), "{text}");
        }
    }

    #[test]
    fn secrets_are_not_printed() {
        let config = from_file("[delivery]\nsigning_secret = \"s3cret\"\n[mail]\nsmtp_url = \"smtp://a:s3cret@b\"\n[postgres]\nurl = \"postgres://a:s3cret@b/c\"")
            .expect("valid");
        assert!(!format!("{config:?}").contains("s3cret"));
        assert!(
            !serde_json::to_string(&config)
                .expect("JSON")
                .contains("s3cret")
        );
    }
}
