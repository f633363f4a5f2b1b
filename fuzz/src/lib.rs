//! Every parser that a client can reach, as a function of some bytes that panics if what must hold
//! for any input does not.
//!
//! `tests/corpus.rs` tries each on its corpus and on inputs made from it; `run` searches with libFuzzer.

mod bundle;
mod checkpoint;
mod decide;
mod export;
mod filter;
mod ingest;
mod mcp;
mod note;
mod pattern;
mod query;
mod tile;
mod tlog_proof;
mod unpack;
mod verify;
mod witness;

/// One parser.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Also the folder of its inputs in `corpus/`.
    pub name: &'static str,
    /// Panics if something does not hold for this input.
    pub check: fn(&[u8]),
}

/// All of them, in the order of their names.
pub const TARGETS: [Target; 15] = [
    Target {
        name: "bundle",
        check: bundle::check,
    },
    Target {
        name: "checkpoint",
        check: checkpoint::check,
    },
    Target {
        name: "decide",
        check: decide::check,
    },
    Target {
        name: "export",
        check: export::check,
    },
    Target {
        name: "filter",
        check: filter::check,
    },
    Target {
        name: "ingest",
        check: ingest::check,
    },
    Target {
        name: "mcp",
        check: mcp::check,
    },
    Target {
        name: "note",
        check: note::check,
    },
    Target {
        name: "pattern",
        check: pattern::check,
    },
    Target {
        name: "query",
        check: query::check,
    },
    Target {
        name: "tile",
        check: tile::check,
    },
    Target {
        name: "tlog_proof",
        check: tlog_proof::check,
    },
    Target {
        name: "unpack",
        check: unpack::check,
    },
    Target {
        name: "verify",
        check: verify::check,
    },
    Target {
        name: "witness",
        check: witness::check,
    },
];

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
