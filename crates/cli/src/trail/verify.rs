//! `watchbell trail verify`: whether an export proves what it says.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::Args;
use domain::Timestamp;
use serde_json::{Value, json};
use trail_proof::export::{Cosigned, Report, Trust, Verdict, verify_each};
use transparency_log::{SignedCheckpoint, VerifierKey};

use super::replay::Replay;
use crate::{
    exit, input, moment,
    output::{Form, Unsaid, counted, say, say_json},
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
    /// Each of them must have cosigned since then: before a log that was rolled back signs again, it still has the cosignatures it
    /// had back then.
    #[arg(long, value_name = "TIME", value_parser = moment::argument, requires = "witnesses")]
    witnessed_since: Option<Timestamp>,
    /// An earlier checkpoint of the log, in a file: what it had must still be there, unchanged.
    #[arg(long, value_name = "FILE")]
    since: Option<PathBuf>,
    /// Make every decision in the file again, by the policies in it: each verdict must come out as it was recorded.
    #[arg(long)]
    replay: bool,
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
        let mut replay = self.replay.then(Replay::default);
        let progress = |bytes| bar.set_position(bytes);
        let report = verify_each(input::open(file)?, trust, progress, |line| {
            if let Some(replay) = &mut replay {
                replay.take(&line);
            }
        });
        bar.finish_and_clear();
        let stale = self.witnessed_since.map(|since| stale(&report, since));
        let checked = Checked {
            report,
            stale: stale.unwrap_or_default(),
            replay,
        };
        let verdict = checked.verdict();
        let said = match self.output {
            Form::Table => checked.say(verdict),
            Form::Json => say_json(&checked.as_json(verdict)),
        };
        exit::with(code(verdict), said)
    }
}

/// What was asked of a file, and how it came out.
struct Checked {
    report: Report,
    /// Witnesses that have not cosigned lately.
    stale: Vec<String>,
    replay: Option<Replay>,
}

/// Says of each witness that cosigned before `since` when it did.
fn stale(report: &Report, since: Timestamp) -> Vec<String> {
    let cosigned = report.cosigned.iter().map(|one| (&one.witness, at(one)));
    cosigned
        .filter(|(_, at)| *at < since)
        .map(|(witness, at)| {
            format!("{witness} cosigned this checkpoint at {at}, which is before {since}")
        })
        .collect()
}

fn at(cosigned: &Cosigned) -> Timestamp {
    let millis = cosigned.unix_seconds.saturating_mul(1_000);
    Timestamp::from_unix_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

fn code(verdict: Verdict) -> ExitCode {
    match verdict {
        Verdict::Proven => exit::DONE,
        Verdict::NotProven => exit::FAILED,
        Verdict::CannotBeChecked => exit::Code::Usage.into(),
    }
}

impl Checked {
    fn verdict(&self) -> Verdict {
        let is_same = self.replay.as_ref().is_none_or(Replay::is_same);
        match self.report.verdict {
            Verdict::Proven if !is_same || !self.stale.is_empty() => Verdict::NotProven,
            verdict => verdict,
        }
    }

    fn say(&self, verdict: Verdict) -> Result<(), Unsaid> {
        let report = &self.report;
        let verdict = match verdict {
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
        for stale in &self.stale {
            say(format_args!("  {stale}"))?;
        }
        let counts = &report.counts;
        say(format_args!(
            "  {}: {}, {}, {} erased, {} past their retention, {} withheld",
            counted(counts.leaves, "entry"),
            counted(counts.events, "event"),
            counted(counts.attempts, "delivery attempt"),
            counts.erased,
            counts.gone,
            counts.withheld
        ))?;
        if let Some(replay) = &self.replay {
            replay.tell(|line| say(format_args!("  {line}")))?;
        }
        for key in &report.signed_by {
            say(format_args!("  signed by {key}"))?;
        }
        for cosigned in &report.cosigned {
            say(format_args!(
                "  witnessed by {} at {}",
                cosigned.witness,
                at(cosigned)
            ))?;
        }
        for remark in &report.remarks {
            say(format_args!("  note: {remark}"))?;
        }
        Ok(())
    }

    fn as_json(&self, verdict: Verdict) -> Value {
        let report = &self.report;
        let finding = |line: Option<u64>, code: &str, detail: String| json!({"line": line, "code": code, "detail": detail});
        let findings = report.findings.iter().map(|one| {
            let problem = &one.problem;
            finding(one.line, problem.code(), problem.to_string())
        });
        let stale = self.stale.iter();
        let stale = stale.map(|detail| finding(None, "witness_stale", detail.clone()));
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
            "verdict": verdict.code(),
            "findings": findings.chain(stale).collect::<Vec<_>>(),
            "findings_left_out": report.findings_left_out,
            "notes": notes.collect::<Vec<_>>(),
            "covered": covered,
            "counts": {
                "leaves": counts.leaves, "events": counts.events, "attempts": counts.attempts,
                "erased": counts.erased, "gone": counts.gone, "withheld": counts.withheld,
            },
            "policies": report.policies,
            "replay": self.replay.as_ref().map(Replay::as_json),
            "signed_by": report.signed_by,
            "witnessed": witnessed.collect::<Vec<_>>(),
        })
    }
}
