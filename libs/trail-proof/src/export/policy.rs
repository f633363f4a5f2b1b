//! A policy that decisions in the file were made by, so that they can be made again.

use std::borrow::Cow;

use transparency_log::sha256;

/// Begins what is hashed, so that the digest of a set is no digest of anything else.
const DIGEST_DOMAIN: &str = "watchbell.policies.v1\n";

/// The texts of one version of an organization's policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy<'l> {
    /// As decisions name it: `sha256:` and 64 hexadecimal digits.
    pub digest: Cow<'l, str>,
    pub text: Cow<'l, str>,
    pub schema: Option<Cow<'l, str>>,
}

impl Policy<'_> {
    /// Whether the digest is that of the texts.
    pub fn is_named_by_its_digest(&self) -> bool {
        self.digest == digest(&self.text, self.schema.as_deref())
    }
}

/// Names the texts of a version. Each has its length in front, so that two of them cannot be mistaken for two others.
pub fn digest(text: &str, schema: Option<&str>) -> String {
    let lengths = [text, schema.unwrap_or_default()].map(|text| format!("{}:", text.len()));
    let mut pieces = vec![DIGEST_DOMAIN, &lengths[0], text];
    if let Some(schema) = schema {
        pieces.extend([lengths[1].as_str(), schema]);
    }
    let pieces: Vec<_> = pieces.iter().map(|piece| piece.as_bytes()).collect();
    format!("sha256:{}", hex::encode(sha256(&pieces)))
}
