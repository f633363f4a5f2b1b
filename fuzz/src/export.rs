//! Exports of the trail: every line is written as it was read, and a proven file has all that it announces.

use trail_proof::export::{Line, Lines, Report, Trust, Verdict, Verifier, Writer, ids, verify};
use trail_proof::leaf::{Kind, Leaf};

/// The corpus has checkpoints that this key signed.
const KEY: &str = "watchbell.example/org_06f5e0v8x5s7b9zq2k4m6n8p0r+4524712c+AY8FA0QLcyQP3AFxmTZdtCfDwhgfHghxGICPDjU2AMC3";

pub(crate) fn check(input: &[u8]) {
    let key = KEY.parse().expect("a key");
    let trust = Trust {
        keys: vec![key],
        ..Trust::default()
    };
    let report = verify(input, trust.clone(), |_| {});
    let is_proven = report.verdict == Verdict::Proven;
    assert_eq!(is_proven, report.findings.is_empty());
    if is_proven {
        complete(&report);
    }

    let mut verifier = Verifier::new(trust);
    let mut lines = Lines::of(input);
    let mut read_before = 0;
    while !verifier.is_done() {
        let line = verifier.feed(lines.next_line()).map(rewritten);
        let read = usize::try_from(lines.bytes_read()).expect("it is in memory");
        if let Some(Some(line)) = line {
            let original = &input[read_before..read];
            assert_eq!(
                line.escape_ascii().to_string(),
                original.escape_ascii().to_string()
            );
        }
        read_before = read;
    }
    assert_eq!(verifier.report().verdict, report.verdict);
}

fn complete(report: &Report) {
    let covered = report.covered.as_ref().expect("a header");
    let counts = report.counts;
    assert_eq!(counts.leaves, covered.end - covered.first);
    let shown = counts.events + counts.attempts + counts.erased + counts.gone;
    assert_eq!(counts.leaves, shown + counts.withheld);
    assert_eq!(report.signed_by, [KEY]);
}

/// As it would be written; `None` for what is not written on its own.
fn rewritten(line: Line<'_>) -> Option<Vec<u8>> {
    let mut written = Vec::new();
    let mut writer = Writer::default();
    match line {
        Line::Record {
            kind,
            leaf,
            salt,
            stored,
        } => {
            let decoded = Leaf::decode(&leaf).expect("it was checked");
            assert!(stored.contains(&ids::encode(kind, decoded.id)) || stored.contains('\\'));
            writer.record(kind, &leaf, salt, &stored, &mut written);
        }
        Line::Erased { leaf, by } => {
            assert!(ids::decode(&ids::encode(Kind::Event, by)).is_some());
            writer.erased(&leaf, by, &mut written);
        }
        Line::Gone { leaf } => writer.gone(&leaf, &mut written),
        Line::Missing { leaf } => writer.missing(&leaf, &mut written),
        Line::Policy(policy) => writer.policy(&policy, &mut written),
        Line::Withheld(_) | Line::End(_) => return None,
    }
    Some(written)
}
