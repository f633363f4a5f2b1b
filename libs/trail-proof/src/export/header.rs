//! The first line: the signed checkpoint, which of its leaves the file is about, and the roots of the subtrees around them.

use std::borrow::Cow;

use transparency_log::{Hash, SignedCheckpoint};

use super::json::Json;
use super::write::{number, string, strings};
use super::{FORMAT, KEYS_MAX, Problem};

/// What every version's header starts with.
const START: &str = r#"{"format":"watchbell-trail/"#;

/// A tree of fewer than 2^63 leaves has no more subtrees on either side of a range.
const HASHES_MAX: usize = 64;

/// What a file says of itself. Of this, only the checkpoint is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// When the file was made, RFC 3339.
    pub made_at: String,
    /// Which log it is of.
    pub origin: String,
    pub checkpoint: SignedCheckpoint,
    /// The log's keys, as text: for who has no better source.
    pub keys: Vec<String>,
    /// The leaves from `first` up to, not including, `end`.
    pub first: u64,
    pub end: u64,
    /// What was asked for, as it was given; leaves that it does not match are withheld.
    pub filter: Option<String>,
    /// The roots of the largest complete subtrees before the range, from left to right.
    pub before: Vec<Hash>,
    /// And after it, up to the end of the checkpoint's tree.
    pub after: Vec<Hash>,
}

impl Header {
    pub(super) fn read(line: &[u8]) -> Result<Self, Problem> {
        let mut json = Json::of(line).ok_or(Problem::NotAnExport)?;
        json.skip(START).ok_or(Problem::NotAnExport)?;
        if !json.skipped("v1\",") {
            return Err(Problem::VersionUnknown);
        }
        let members = Members::read(json).ok_or(Problem::HeaderMalformed)?;
        let checkpoint = members.checkpoint.parse().map_err(Problem::Checkpoint)?;
        Ok(Self {
            made_at: members.made_at.into_owned(),
            origin: members.origin.into_owned(),
            checkpoint,
            keys: members.keys.into_iter().map(Cow::into_owned).collect(),
            first: members.first,
            end: members.end,
            filter: members.filter.map(Cow::into_owned),
            before: members.before,
            after: members.after,
        })
    }

    pub(super) fn write(&self, line: &mut Vec<u8>) {
        let texts = |hashes: &[Hash]| -> Vec<_> { hashes.iter().map(Hash::to_string).collect() };
        line.extend_from_slice(b"{\"format\":");
        string(line, FORMAT);
        line.extend_from_slice(b",\"made_at\":");
        string(line, &self.made_at);
        line.extend_from_slice(b",\"origin\":");
        string(line, &self.origin);
        line.extend_from_slice(b",\"checkpoint\":");
        string(line, &self.checkpoint.to_string());
        line.extend_from_slice(b",\"keys\":");
        strings(line, &self.keys);
        line.extend_from_slice(b",\"first\":");
        number(line, self.first);
        line.extend_from_slice(b",\"end\":");
        number(line, self.end);
        line.extend_from_slice(b",\"filter\":");
        match &self.filter {
            Some(filter) => string(line, filter),
            None => line.extend_from_slice(b"null"),
        }
        line.extend_from_slice(b",\"before\":");
        strings(line, &texts(&self.before));
        line.extend_from_slice(b",\"after\":");
        strings(line, &texts(&self.after));
        line.extend_from_slice(b"}\n");
    }
}

/// The header, before anyone looks into the checkpoint.
struct Members<'l> {
    made_at: Cow<'l, str>,
    origin: Cow<'l, str>,
    checkpoint: Cow<'l, str>,
    keys: Vec<Cow<'l, str>>,
    first: u64,
    end: u64,
    filter: Option<Cow<'l, str>>,
    before: Vec<Hash>,
    after: Vec<Hash>,
}

impl<'l> Members<'l> {
    /// What follows the format.
    fn read(mut json: Json<'l>) -> Option<Self> {
        json.skip("\"made_at\":")?;
        let made_at = json.string()?;
        json.skip(",\"origin\":")?;
        let origin = json.string()?;
        json.skip(",\"checkpoint\":")?;
        let checkpoint = json.string()?;
        json.skip(",\"keys\":")?;
        let keys = json.strings(KEYS_MAX)?;
        json.skip(",\"first\":")?;
        let first = json.number()?;
        json.skip(",\"end\":")?;
        let end = json.number()?;
        json.skip(",\"filter\":")?;
        let filter = if json.skipped("null") {
            None
        } else {
            Some(json.string()?)
        };
        json.skip(",\"before\":")?;
        let before = hashes(&mut json)?;
        json.skip(",\"after\":")?;
        let after = hashes(&mut json)?;
        json.skip("}")?;
        json.end()?;
        Some(Self {
            made_at,
            origin,
            checkpoint,
            keys,
            first,
            end,
            filter,
            before,
            after,
        })
    }
}

fn hashes(json: &mut Json<'_>) -> Option<Vec<Hash>> {
    let texts = json.strings(HASHES_MAX)?;
    texts.iter().map(|text| text.parse().ok()).collect()
}
