//! One of `transparency.witnesses`: where a witness is asked, and the key that its cosignatures are verified with.

use std::{fmt, str::FromStr};

use anyhow::Context as _;
use serde::{Serialize, Serializer};
use transparency_log::{Algorithm, VerifierKey};
use url::Url;

/// A witness, written as `URL KEY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// What the protocol calls its submission prefix; ends with a slash.
    pub url: Url,
    pub key: VerifierKey,
}

impl Witness {
    /// Its name, which is in its key.
    pub fn name(&self) -> &str {
        self.key.name()
    }
}

impl FromStr for Witness {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (url, key) = text
            .split_once(char::is_whitespace)
            .context("it is not a URL, a space and a key")?;
        let url = format!("{}/", url.trim_end_matches('/'));
        let url = Url::parse(&url).map_err(|error| anyhow::anyhow!("its URL: {error}"))?;
        anyhow::ensure!(
            ["http", "https"].contains(&url.scheme()) && url.query().is_none(),
            "its URL is not an http:// or https:// URL"
        );
        let key = VerifierKey::from_str(key.trim())
            .map_err(|error| anyhow::anyhow!("its key: {error}"))?;
        anyhow::ensure!(
            key.algorithm() == Algorithm::CosignatureV1,
            "{} is the key of a log, not of a witness",
            key.name()
        );
        Ok(Self { url, key })
    }
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.url, self.key)
    }
}

impl Serialize for Witness {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use transparency_log::{Cosigner, SigningKey};

    use super::*;

    #[test]
    fn a_witness_is_a_url_and_the_key_of_a_witness() {
        let key = Cosigner::from_seed("w.example/1", &[1; 32]).expect("a key");
        let key = key.verifier_key();
        let read = |text: &str| text.parse::<Witness>();
        let witness = read(&format!("https://w.example/prefix {key}")).expect("a witness");
        assert_eq!(witness.url.as_str(), "https://w.example/prefix/");
        assert_eq!(witness.name(), "w.example/1");
        assert_eq!(read(&witness.to_string()).expect("the same"), witness);
        let log = SigningKey::from_seed("log.example", &[1; 32]).expect("a key");
        let log = log.verifier_key();
        for wrong in [
            format!("https://w.example {log}"),
            format!("ftp://w.example {key}"),
            format!("w.example {key}"),
            format!("https://w.example?a=b {key}"),
            "https://w.example".to_owned(),
            key.to_string(),
        ] {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
    }
}
