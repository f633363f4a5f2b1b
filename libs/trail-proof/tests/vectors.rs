//! The cases in `vectors/`, on which every language's verifier must agree.

use serde::Deserialize;
use trail_proof::export::{Counts, Remark, Report, Trust, Verdict, verify};

#[derive(Deserialize)]
struct Vectors {
    version: u32,
    about: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    lines: Vec<String>,
    unfinished: Option<String>,
    keys: Vec<String>,
    witnesses: Vec<String>,
    since: Option<String>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    verdict: String,
    findings: Vec<Found>,
    remarks: Vec<String>,
    counts: Option<Counted>,
    signed_by: Option<Vec<String>>,
    cosigned: Option<Vec<Cosigned>>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Found {
    line: Option<u64>,
    code: String,
}

#[derive(Deserialize)]
struct Counted {
    leaves: u64,
    events: u64,
    attempts: u64,
    erased: u64,
    gone: u64,
    withheld: u64,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Cosigned {
    witness: String,
    unix_seconds: u64,
}

#[test]
fn what_is_proven_is_proven() {
    for case in cases(include_str!("../vectors/proven.json"), Verdict::Proven) {
        let report = case.check();
        let name = &case.name;
        let counts = case.expect.counts.as_ref().expect("counts");
        assert_eq!(report.counts, counts.into(), "{name}");
        assert_eq!(
            Some(&report.signed_by),
            case.expect.signed_by.as_ref(),
            "{name}"
        );
        let cosigned: Vec<_> = report.cosigned.into_iter().map(Cosigned::from).collect();
        assert_eq!(Some(cosigned), case.expect.cosigned, "{name}");
    }
}

#[test]
fn what_is_wrong_is_found_and_where() {
    let cases = cases(
        include_str!("../vectors/not_proven.json"),
        Verdict::NotProven,
    );
    for case in cases {
        case.check();
    }
}

#[test]
fn what_cannot_be_checked_is_not_judged() {
    let text = include_str!("../vectors/cannot_be_checked.json");
    let cases = cases(text, Verdict::CannotBeChecked);
    for case in cases {
        case.check();
    }
}

fn cases(text: &str, verdict: Verdict) -> Vec<Case> {
    let vectors: Vectors = serde_json::from_str(text).expect("vectors");
    assert_eq!(
        (vectors.version, vectors.about.as_str()),
        (1, verdict.code())
    );
    assert!(vectors.cases.len() > 20);
    vectors.cases
}

impl Case {
    fn check(&self) -> Report {
        let parsed = |keys: &[String]| keys.iter().map(|key| key.parse().expect("a key")).collect();
        let trust = Trust {
            keys: parsed(&self.keys),
            witnesses: parsed(&self.witnesses),
            since: self
                .since
                .as_ref()
                .map(|note| note.parse().expect("a note")),
        };
        let mut file: String = self.lines.iter().flat_map(|line| [line, "\n"]).collect();
        file.push_str(self.unfinished.as_deref().unwrap_or_default());
        let report = verify(file.as_bytes(), trust, |_| {});
        let findings: Vec<_> = report
            .findings
            .iter()
            .map(|finding| Found {
                line: finding.line,
                code: finding.problem.code().to_owned(),
            })
            .collect();
        let name = &self.name;
        assert_eq!(findings, self.expect.findings, "{name}");
        assert_eq!(report.verdict.code(), self.expect.verdict, "{name}");
        let remarks: Vec<_> = report.remarks.iter().map(Remark::code).collect();
        assert_eq!(remarks, self.expect.remarks, "{name}");
        report
    }
}

impl From<&Counted> for Counts {
    fn from(counted: &Counted) -> Self {
        Self {
            leaves: counted.leaves,
            events: counted.events,
            attempts: counted.attempts,
            erased: counted.erased,
            gone: counted.gone,
            withheld: counted.withheld,
        }
    }
}

impl From<trail_proof::export::Cosigned> for Cosigned {
    fn from(cosigned: trail_proof::export::Cosigned) -> Self {
        Self {
            witness: cosigned.witness,
            unix_seconds: cosigned.unix_seconds,
        }
    }
}
