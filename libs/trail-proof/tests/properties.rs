//! What holds for every export, whatever is in it and whatever is done to it.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use trail_proof::export::{
    Counts, Covered, Header, Line, Lines, Policy, Report, Trust, Verdict, Verifier, Writer, ids,
    policy, verify,
};
use trail_proof::leaf::{Commitment, Kind, LEAF_BYTES, Leaf, Salt};
use transparency_log::{
    Checkpoint, Cosigner, Edge, Hash, Range, SignedCheckpoint, SigningKey, VerifierKey,
};

const ORIGIN: &str = "log.example/org_1";
const RECEIVED_MS: i64 = 1_794_995_200_007;

/// How a leaf is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shown {
    Event,
    Attempt,
    Gone,
    Withheld,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_proven_and_reads_back(log in any_log(), first in any::<Index>(), end in any::<Index>()) {
        let first = first.index(log.len() + 1);
        let end = first + end.index(log.len() + 1 - first);
        let file = written(&log, first, end);
        let report = verify(file.as_slice(), trust(), |_| {});
        prop_assert_eq!(report.verdict, Verdict::Proven, "{:?}", report);

        let mut verifier = Verifier::new(trust());
        let mut lines = Lines::of(file.as_slice());
        let mut texts = Vec::new();
        while !verifier.is_done() {
            if let Some(Line::Record { stored, .. }) = verifier.feed(lines.next_line()) {
                texts.push(stored.into_owned());
            }
        }
        let expected = log[first..end].iter().enumerate();
        let expected: Vec<_> = expected.filter_map(|(index, (shown, text))| stored(first + index, *shown, text)).collect();
        prop_assert_eq!(texts, expected);
    }

    #[test]
    fn a_leaf_that_is_left_out_doubled_or_moved_is_found(log in any_log(), at in any::<Index>(), to in any::<Index>(), what in 0..3) {
        let file = written(&log, 0, log.len());
        let mut lines: Vec<_> = file.split_inclusive(|byte| *byte == b'\n').collect();
        // After the header and the policy.
        let leaves = 2..lines.len() - 1;
        prop_assume!(!leaves.is_empty());
        let (at, to) = (2 + at.index(leaves.len()), 2 + to.index(leaves.len()));
        match what {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at]),
            _ => lines.swap(at, to),
        }
        let changed = lines.concat();
        prop_assume!(changed != file);
        let report = verify(changed.as_slice(), trust(), |_| {});
        prop_assert_eq!(report.verdict, Verdict::NotProven, "{:?}", report);
    }

    #[test]
    fn a_changed_byte_never_changes_what_is_proven(log in any_log(), at in any::<Index>(), to: u8) {
        let file = written(&log, 0, log.len());
        let mut changed = file.clone();
        changed[at.index(file.len())] = to;
        same_or_not_proven(&file, &changed);
    }

    #[test]
    fn a_file_that_was_cut_is_not_proven(log in any_log(), at in any::<Index>()) {
        let file = written(&log, 0, log.len());
        let cut = &file[..at.index(file.len())];
        let report = verify(cut, trust(), |_| {});
        prop_assert_ne!(report.verdict, Verdict::Proven);
    }

    #[test]
    fn progress_ends_with_the_whole_file(log in any_log()) {
        let file = written(&log, 0, log.len());
        let mut read = 0;
        verify(file.as_slice(), trust(), |bytes| read = bytes);
        prop_assert_eq!(read, file.len() as u64);
    }
}

/// Every byte of one file, each changed in three ways.
#[test]
fn no_byte_of_a_file_can_be_changed_to_prove_something_else() {
    let log = [
        (Shown::Event, "é\n\"\\".to_owned()),
        (Shown::Gone, String::new()),
        (Shown::Withheld, String::new()),
        (Shown::Attempt, "ok".to_owned()),
    ];
    let file = written(&log, 0, log.len());
    for at in 0..file.len() {
        for flip in [0x01, 0x20, 0x80] {
            let mut changed = file.clone();
            changed[at] ^= flip;
            same_or_not_proven(&file, &changed);
        }
    }
}

/// What the file only says of itself may change: nothing vouches for it, and the report says so.
fn same_or_not_proven(file: &[u8], changed: &[u8]) {
    let report = verify(changed, trust(), |_| {});
    if report.verdict == Verdict::Proven {
        let original = verify(file, trust(), |_| {});
        assert_eq!(proven(&report), proven(&original));
        assert_eq!(records(changed), records(file));
    }
}

fn proven(report: &Report) -> (&Option<Covered>, Counts, &[String], usize, usize) {
    let Report {
        covered,
        counts,
        signed_by,
        cosigned,
        remarks,
        ..
    } = report;
    (covered, *counts, signed_by, cosigned.len(), remarks.len())
}

/// Everything that a file shows, but the policies, which the events name.
fn records(file: &[u8]) -> Vec<String> {
    let mut verifier = Verifier::new(trust());
    let mut lines = Lines::of(file);
    let mut shown = Vec::new();
    while !verifier.is_done() {
        match verifier.feed(lines.next_line()) {
            None | Some(Line::Policy(_)) => {}
            Some(line) => shown.push(format!("{line:?}")),
        }
    }
    shown
}

fn any_log() -> impl Strategy<Value = Vec<(Shown, String)>> {
    let shown = prop_oneof![
        Just(Shown::Event),
        Just(Shown::Attempt),
        Just(Shown::Gone),
        Just(Shown::Withheld),
    ];
    vec((shown, any::<String>()), 0..20)
}

fn written(log: &[(Shown, String)], first: usize, end: usize) -> Vec<u8> {
    let leaves: Vec<_> = (0..log.len())
        .map(|index| leaf(index, &log[index]))
        .collect();
    let hashes: Vec<_> = leaves.iter().map(|leaf| Hash::of_leaf(leaf)).collect();
    let header = header(&hashes, first, end);
    let mut file = Vec::new();
    let mut writer = Writer::begin(&header, &mut file);
    let text = "permit(principal, action, resource);";
    let policy = Policy {
        digest: policy::digest(text, None).into(),
        text: text.into(),
        schema: None,
    };
    writer.policy(&policy, &mut file);
    for index in first..end {
        let (shown, text) = &log[index];
        match (shown, stored(index, *shown, text)) {
            (Shown::Withheld, _) => writer.withheld(&hashes[index], &mut file),
            (Shown::Gone, _) => writer.gone(&leaves[index], &mut file),
            (Shown::Event, Some(stored)) => {
                writer.record(Kind::Event, &leaves[index], salt(index), &stored, &mut file);
            }
            (_, stored) => {
                let stored = stored.expect("an attempt");
                writer.record(
                    Kind::Attempt,
                    &leaves[index],
                    salt(index),
                    &stored,
                    &mut file,
                );
            }
        }
    }
    writer.end(&mut file);
    file
}

fn header(hashes: &[Hash], first: usize, end: usize) -> Header {
    let edge = grown(hashes);
    let checkpoint = Checkpoint::of(ORIGIN, &edge).expect("a checkpoint");
    let mut signed = SignedCheckpoint::sign(checkpoint.clone(), &[&key()]).expect("a note");
    let cosignature = witness().cosign(&checkpoint, 1_794_996_000);
    signed.add(cosignature.expect("a time")).expect("few");
    let range = Range::new(first as u64, end as u64, edge.size()).expect("a range");
    let root = |node: &transparency_log::Node| {
        let begin = usize::try_from(node.index << node.level).expect("small");
        grown(&hashes[begin..begin + (1 << node.level)]).root()
    };
    Header {
        made_at: "2026-11-18T10:00:00.000Z".to_owned(),
        origin: ORIGIN.to_owned(),
        checkpoint: signed,
        keys: vec![key().verifier_key().to_string()],
        first: range.begin(),
        end: range.end(),
        filter: Some("result=\"denied\"".to_owned()),
        before: range.before().iter().map(root).collect(),
        after: range.after().iter().map(root).collect(),
    }
}

fn grown(leaves: &[Hash]) -> Edge {
    let mut edge = Edge::new();
    for leaf in leaves {
        edge.append(*leaf).expect("a small tree");
    }
    edge
}

fn leaf(index: usize, (shown, text): &(Shown, String)) -> [u8; LEAF_BYTES] {
    let stored = stored(index, *shown, text).unwrap_or_default();
    let kind = kind(*shown);
    Leaf {
        kind,
        id: id(index),
        occurred_ms: RECEIVED_MS - 7,
        received_ms: RECEIVED_MS,
        commitment: Commitment::to(salt(index), stored.as_bytes()),
    }
    .encode()
}

fn stored(index: usize, shown: Shown, text: &str) -> Option<String> {
    let (from, to) = match shown {
        Shown::Event => ("occurred_at", "received_at"),
        Shown::Attempt => ("started_at", "finished_at"),
        Shown::Gone | Shown::Withheld => return None,
    };
    let id = ids::encode(kind(shown), id(index));
    let text = serde_json::Value::from(text);
    Some(format!(
        r#"{{"id":"{id}","{from}":"2026-11-18T09:46:40.000Z","{to}":"2026-11-18T09:46:40.007Z","text":{text}}}"#
    ))
}

fn kind(shown: Shown) -> Kind {
    if shown == Shown::Attempt {
        Kind::Attempt
    } else {
        Kind::Event
    }
}

fn id(index: usize) -> [u8; 16] {
    (index as u128).to_be_bytes()
}

fn salt(index: usize) -> Salt {
    Salt((index as u128 + 7).to_le_bytes())
}

fn key() -> SigningKey {
    SigningKey::from_seed(ORIGIN, &[1; 32]).expect("a key")
}

fn witness() -> Cosigner {
    Cosigner::from_seed("witness.example", &[2; 32]).expect("a key")
}

fn trust() -> Trust {
    let known = |key: &VerifierKey| vec![key.clone()];
    Trust {
        keys: known(key().verifier_key()),
        witnesses: known(witness().verifier_key()),
        since: None,
    }
}
