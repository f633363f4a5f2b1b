//! What must hold for any input holds for the corpus of each target, and for inputs made from it by
//! chance: other ones in every run. `PROPTEST_CASES` asks for more of them.

use std::{fs, path::Path};

use fuzz::Target;
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
    test_runner::{TestError, TestRunner},
};

/// As many inputs as a debug build tries in seconds, for the slowest target.
const CASES: u32 = 1_500;
const EDITS_MAX: usize = 8;

/// What parsers trip over, whatever they parse.
const TROUBLE: [&str; 24] = [
    "{", "}", "[", "]", "(", ")", "\"", "\\", ",", ":", "=", "@", "*", "-", "\n", "\n---\n", "\0",
    "\u{feff}", "é", "\\u0000", "\\ud800", "null", "1e400", "-0.0",
];

#[test]
fn entry_bundles_hold_for_any_input() {
    hold("bundle");
}

#[test]
fn checkpoints_hold_for_any_input() {
    hold("checkpoint");
}

#[test]
fn verdicts_hold_for_any_input() {
    hold("decide");
}

#[test]
fn exports_hold_for_any_input() {
    hold("export");
}

#[test]
fn filters_hold_for_any_input() {
    hold("filter");
}

#[test]
fn the_door_for_events_holds_for_any_input() {
    hold("ingest");
}

#[test]
fn an_mcp_guard_holds_for_any_input() {
    hold("mcp");
}

#[test]
fn notes_hold_for_any_input() {
    hold("note");
}

#[test]
fn patterns_hold_for_any_input() {
    hold("pattern");
}

#[test]
fn queries_hold_for_any_input() {
    hold("query");
}

#[test]
fn tiles_hold_for_any_input() {
    hold("tile");
}

#[test]
fn proofs_hold_for_any_input() {
    hold("tlog_proof");
}

#[test]
fn unpacking_holds_for_any_input() {
    hold("unpack");
}

#[test]
fn verification_holds_for_any_input() {
    hold("verify");
}

#[test]
fn a_witness_holds_for_any_input() {
    hold("witness");
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let mut names: Vec<_> = fs::read_dir(corpus_of(""))
        .expect("the corpus")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .collect();
    names.sort();
    assert_eq!(names, fuzz::TARGETS.map(|target| target.name));
}

fn hold(name: &str) {
    let target = fuzz::target(name).expect("a target");
    let corpus = read(target);
    for input in &corpus {
        (target.check)(input);
    }
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let config = ProptestConfig {
        cases: config.cases.max(CASES),
        ..config
    };
    let result = TestRunner::new(config).run(&made_from(corpus), |input| {
        (target.check)(&input);
        Ok(())
    });
    if let Err(TestError::Fail(why, input)) = result {
        panic!(
            "{why}\nan input for corpus/{name}: b\"{}\"",
            input.escape_ascii()
        );
    }
    result.expect("the inputs were tried");
}

fn corpus_of(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name)
}

fn read(target: &Target) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(corpus_of(target.name)).expect("the target's corpus");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let inputs: Vec<_> = paths
        .map(|path| fs::read(path).expect("an input"))
        .collect();
    assert!(!inputs.is_empty(), "{} has no corpus", target.name);
    inputs
}

/// One change of an input.
#[derive(Clone, Debug)]
enum Edit {
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, usize),
    /// Goes on as another input does from there.
    Splice(Index, Vec<u8>, Index),
}

/// An input of the corpus, or none, with some changes.
fn made_from(corpus: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let mut words: Vec<Vec<u8>> = TROUBLE.map(|word| word.as_bytes().to_vec()).to_vec();
    for input in &corpus {
        let found = input.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
        words.extend(found.filter(|word| !word.is_empty()).map(<[u8]>::to_vec));
    }
    let input = prop_oneof![8 => select(corpus.clone()), 1 => vec(any::<u8>(), 0..200)];
    let edits = vec(edit(words, corpus), 0..EDITS_MAX);
    (input, edits).prop_map(|(input, edits)| edits.iter().fold(input, apply))
}

fn edit(words: Vec<Vec<u8>>, corpus: Vec<Vec<u8>>) -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        2 => (at(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        4 => (at(), select(words)).prop_map(|(at, word)| Edit::Insert(at, word)),
        2 => (at(), 1_usize..20).prop_map(|(at, length)| Edit::Remove(at, length)),
        1 => (at(), 1_usize..60).prop_map(|(at, length)| Edit::Repeat(at, length)),
        1 => (at(), select(corpus), at()).prop_map(|(at, other, from)| Edit::Splice(at, other, from)),
    ]
}

fn apply(mut input: Vec<u8>, edit: &Edit) -> Vec<u8> {
    // One more than there are bytes: the end is a place too.
    let place = |at: &Index, input: &[u8]| at.index(input.len() + 1);
    let piece = |at: &Index, length: usize, input: &[u8]| {
        let start = place(at, input);
        start..input.len().min(start + length)
    };
    match edit {
        Edit::Set(at, byte) => {
            let at = place(at, &input);
            if let Some(place) = input.get_mut(at) {
                *place = *byte;
            }
        }
        Edit::Insert(at, word) => {
            let at = place(at, &input);
            input.splice(at..at, word.iter().copied());
        }
        Edit::Remove(at, length) => drop(input.drain(piece(at, *length, &input))),
        Edit::Repeat(at, length) => {
            let piece = piece(at, *length, &input);
            let bytes = input[piece.clone()].to_vec();
            input.splice(piece.end..piece.end, bytes);
        }
        Edit::Splice(at, other, from) => {
            input.truncate(place(at, &input));
            input.extend_from_slice(&other[place(from, other)..]);
        }
    }
    input
}
