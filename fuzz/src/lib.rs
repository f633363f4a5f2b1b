//! Every parser that a client can reach, as a function of some bytes that panics if what must hold
//! for any input does not.
//!
//! `tests/corpus.rs` tries each on its corpus and on inputs made from it; `run` searches with libFuzzer.

mod decide;
mod filter;
mod ingest;
mod pattern;
mod query;
mod unpack;
mod verify;

/// One parser.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Also the folder of its inputs in `corpus/`.
    pub name: &'static str,
    /// Panics if something does not hold for this input.
    pub check: fn(&[u8]),
}

/// All of them, in the order of their names.
pub const TARGETS: [Target; 7] = [
    Target {
        name: "decide",
        check: decide::check,
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
        name: "pattern",
        check: pattern::check,
    },
    Target {
        name: "query",
        check: query::check,
    },
    Target {
        name: "unpack",
        check: unpack::check,
    },
    Target {
        name: "verify",
        check: verify::check,
    },
];

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
