//! What a line after the header is.

use std::borrow::Cow;

use transparency_log::Hash;

use super::json::Json;
use super::{Policy, WITHHELD_PER_LINE_MAX, ids};
use crate::leaf::{Kind, LEAF_BYTES, Salt};

/// One line: a leaf, several, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'l> {
    /// An event or an attempt, with the bytes that were stored and the salt they are committed to with.
    Record {
        kind: Kind,
        leaf: [u8; LEAF_BYTES],
        salt: Salt,
        stored: Cow<'l, str>,
    },
    /// Bytes and salt were erased; the event `by`, which is a leaf itself, says who did it and why.
    Erased {
        leaf: [u8; LEAF_BYTES],
        by: [u8; 16],
    },
    /// The bytes are past their retention.
    Gone { leaf: [u8; LEAF_BYTES] },
    /// The server should have the bytes, and has not.
    Missing { leaf: [u8; LEAF_BYTES] },
    /// Leaves that the filter does not match.
    Withheld(Vec<Hash>),
    /// No leaf: what decisions in the file were made by.
    Policy(Policy<'l>),
    /// The last line.
    End(Counts),
}

/// How many there are of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of the below.
    pub leaves: u64,
    pub events: u64,
    pub attempts: u64,
    pub erased: u64,
    pub gone: u64,
    pub withheld: u64,
}

impl<'l> Line<'l> {
    /// `None` if it is none of them.
    pub(super) fn read(line: &'l [u8]) -> Option<Self> {
        let mut json = Json::of(line)?;
        let line = if json.skipped("{\"leaf\":") {
            leaf(&mut json)?
        } else if json.skipped("{\"hashes\":") {
            withheld(&json.blob()?)?
        } else if json.skipped("{\"policy\":") {
            Self::Policy(policy(&mut json)?)
        } else {
            json.skip("{\"end\":")?;
            Self::End(counts(&mut json)?)
        };
        json.skip("}")?;
        json.end()?;
        Some(line)
    }
}

fn leaf<'l>(json: &mut Json<'l>) -> Option<Line<'l>> {
    let leaf = json.bytes()?;
    json.skip(",")?;
    if json.skipped("\"erased\":") {
        let (kind, by) = ids::decode(&json.string()?)?;
        return (kind == Kind::Event).then_some(Line::Erased { leaf, by });
    }
    if json.skipped("\"gone\":true") {
        return Some(Line::Gone { leaf });
    }
    if json.skipped("\"missing\":true") {
        return Some(Line::Missing { leaf });
    }
    json.skip("\"salt\":")?;
    let salt = Salt(json.bytes()?);
    let kind = if json.skipped(",\"event\":") {
        Kind::Event
    } else {
        json.skip(",\"attempt\":")?;
        Kind::Attempt
    };
    let stored = json.string()?;
    Some(Line::Record {
        kind,
        leaf,
        salt,
        stored,
    })
}

fn withheld(bytes: &[u8]) -> Option<Line<'static>> {
    let (hashes, rest) = bytes.as_chunks::<{ Hash::BYTES }>();
    let fits = (1..=WITHHELD_PER_LINE_MAX).contains(&hashes.len()) && rest.is_empty();
    let hashes = hashes.iter().map(|bytes| Hash::from_bytes(*bytes));
    fits.then(|| Line::Withheld(hashes.collect()))
}

fn policy<'l>(json: &mut Json<'l>) -> Option<Policy<'l>> {
    json.skip("{\"digest\":")?;
    let digest = json.string()?;
    json.skip(",\"text\":")?;
    let text = json.string()?;
    let schema = if json.skipped(",\"schema\":") {
        Some(json.string()?)
    } else {
        None
    };
    json.skip("}")?;
    Some(Policy {
        digest,
        text,
        schema,
    })
}

fn counts(json: &mut Json<'_>) -> Option<Counts> {
    let mut member = |name: &str| {
        json.skip(name)?;
        json.number()
    };
    let counts = Counts {
        leaves: member("{\"leaves\":")?,
        events: member(",\"events\":")?,
        attempts: member(",\"attempts\":")?,
        erased: member(",\"erased\":")?,
        gone: member(",\"gone\":")?,
        withheld: member(",\"withheld\":")?,
    };
    json.skip("}")?;
    Some(counts)
}
