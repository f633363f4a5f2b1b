//! `watchbell trail verify`: whether an export proves what it says.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::Args;
use serde_json::{Value, json};
use trail_proof::export::{Report, Trust, Verdict, verify};
use transparency_log::{SignedCheckpoint, VerifierKey};

use crate::{
    exit, input,
    output::{Form, Unsaid, say, say_json},
    progress,
};

#[derive(Debug, Args)]
pub struct Verify {
    /// The export, not compressed; `-`, the default, is standard input.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// A key of the log that you trust, from whoever owns the log; can be given several times. Without it the file's own is
    /// used, which proves nothing about who made it.
    #[arg(long = "key", value_name = "KEY")]
    keys: Vec<VerifierKey>,
    /// A witness that must have cosigned; can be given several times.
    #[arg(long = "witness", value_name = "KEY")]
    witnesses: Vec<VerifierKey>,
    /// An earlier checkpoint of the log, in a file: what it had must still be there, unchanged.
    #[arg(long, value_name = "FILE")]
    since: Option<PathBuf>,
    /// Output format: a table for people, or JSON for programs.
    #[arg(long, short, value_enum, default_value_t)]
    output: Form,
}

impl Verify {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let since = self.since.as_deref().map(input::text).transpose()?;
        let since = since.map(|text| SignedCheckpoint::parse(&text));
        let since = since.transpose().map_err(|error| {
            exit::invalid(format!("the earlier checkpoint cannot be read: {error}"))
        })?;
        let trust = Trust {
            keys: self.keys,
            witnesses: self.witnesses,
            since,
        };
        let file = self.file.as_deref();
        let length = file.and_then(|file| fs::metadata(file).ok());
        let bar = length.map_or_else(progress::bytes, |file| progress::of(file.len()));
        let report = verify(input::open(file)?, trust, |bytes| bar.set_position(bytes));
        bar.finish_and_clear();
        let said = match self.output {
            Form::Table => say_report(&report),
            Form::Json => say_json(&as_json(&report)),
        };
        exit::with(code(report.verdict), said)
    }
}

fn code(verdict: Verdict) -> ExitCode {
    match verdict {
        Verdict::Proven => exit::DONE,
        Verdict::NotProven => exit::FAILED,
        Verdict::CannotBeChecked => exit::Code::Usage.into(),
    }
}

fn say_report(report: &Report) -> Result<(), Unsaid> {
    let verdict = match report.verdict {
        Verdict::Proven => "proven",
        Verdict::NotProven => "NOT PROVEN",
        Verdict::CannotBeChecked => "cannot be checked",
    };
    match &report.covered {
        Some(covered) => say(format_args!("{verdict}: {}", covered.origin))?,
        None => say(verdict)?,
    }
    for finding in &report.findings {
        match finding.line {
            Some(line) => say(format_args!("  line {line}: {}", finding.problem))?,
            None => say(format_args!("  {}", finding.problem))?,
        }
    }
    if report.findings_left_out > 0 {
        say(format_args!("  and {} more", report.findings_left_out))?;
    }
    let counts = &report.counts;
    say(format_args!(
        "  {} leaves: {} events, {} delivery attempts, {} erased, {} past their retention, {} withheld",
        counts.leaves, counts.events, counts.attempts, counts.erased, counts.gone, counts.withheld
    ))?;
    for key in &report.signed_by {
        say(format_args!("  signed by {key}"))?;
    }
    for cosigned in &report.cosigned {
        say(format_args!("  witnessed by {}", cosigned.witness))?;
    }
    for remark in &report.remarks {
        say(format_args!("  note: {remark}"))?;
    }
    Ok(())
}

fn as_json(report: &Report) -> Value {
    let finding = |line: Option<u64>, code: &str, detail: String| json!({"line": line, "code": code, "detail": detail});
    let findings = report.findings.iter().map(|one| {
        let problem = &one.problem;
        finding(one.line, problem.code(), problem.to_string())
    });
    let notes = report
        .remarks
        .iter()
        .map(|remark| json!({"code": remark.code(), "detail": remark.to_string()}));
    let covered = report.covered.as_ref().map(|covered| {
        json!({
            "origin": covered.origin, "first": covered.first, "end": covered.end,
            "size": covered.size, "root": covered.root.to_string(),
        })
    });
    let witnessed = report
        .cosigned
        .iter()
        .map(|one| json!({"witness": one.witness, "unix_seconds": one.unix_seconds}));
    let counts = &report.counts;
    json!({
        "verdict": report.verdict.code(),
        "findings": findings.collect::<Vec<_>>(),
        "findings_left_out": report.findings_left_out,
        "notes": notes.collect::<Vec<_>>(),
        "covered": covered,
        "counts": {
            "leaves": counts.leaves, "events": counts.events, "attempts": counts.attempts,
            "erased": counts.erased, "gone": counts.gone, "withheld": counts.withheld,
        },
        "signed_by": report.signed_by,
        "witnessed": witnessed.collect::<Vec<_>>(),
    })
}
