//! `watchbell policy`: the client checks and saves policies; here recorded decisions are made again.

use std::{
    collections::{BTreeSet, HashMap},
    fs::{self, File},
    io::{self, BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use domain::fault::Fault;
use policy::{
    PolicySet, Verdict,
    recorded::{Differs, NotADecision, Recorded, result},
    starter,
};
use serde::{Deserialize, de::IgnoredAny};
use sha2::{Digest as _, Sha256};

use super::say;
use crate::decisions::audit_event::EVENT_TYPE;

/// How much of a line is read; what is longer than that is no event, which has 32 KiB.
const LINE_BYTES_MAX: u64 = 1024 * 1024;

/// The one policy that there was before organizations had policies of their own.
const ALLOW_ALL: &str = "allow-all";

#[derive(Debug, Subcommand)]
pub(super) enum Policy {
    #[command(flatten)]
    Client(cli::policy::Policy),
    /// Replay the decisions in an export and compare: every verdict must come out as recorded. Exits 1 if one does not, or
    /// cannot be replayed.
    Replay(Replay),
}

#[derive(Debug, Args)]
pub(super) struct Replay {
    /// Lines of the trail, as `POST /v1/audit/export` returns them (NDJSON); defaults to standard input.
    #[arg(long, value_name = "FILE")]
    decisions: Option<PathBuf>,
    /// The lines are only part of an export, without the last line that proves it complete.
    #[arg(long)]
    part: bool,
    /// Policy versions, each as `watchbell policy show VERSION -o json` prints it. The starter is built in.
    #[arg(value_name = "VERSION_FILE")]
    versions: Vec<PathBuf>,
}

impl Policy {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Client(command) => command.run().await,
            Self::Replay(command) => command.run().map(|()| ExitCode::SUCCESS),
        }
    }
}

impl Replay {
    fn run(self) -> anyhow::Result<()> {
        let versions = Versions::read(&self.versions)?;
        let lines: Box<dyn BufRead> = match &self.decisions {
            Some(file) => {
                let opened =
                    File::open(file).with_context(|| format!("open {}", file.display()))?;
                Box::new(BufReader::new(opened))
            }
            None => Box::new(io::stdin().lock()),
        };
        let mut tally = Tally::default();
        tally.read(lines, &versions)?;
        tally.tell(self.part)
    }
}

/// The policies that decisions may name, by digest.
struct Versions(HashMap<String, PolicySet>);

/// A version as the server shows it.
#[derive(Deserialize)]
struct VersionFile {
    version: u32,
    digest: String,
    policies: String,
    schema: Option<String>,
}

impl Versions {
    fn read(files: &[PathBuf]) -> anyhow::Result<Self> {
        let starter = PolicySet::read(starter::POLICIES, None).map_err(|faults| told(&faults))?;
        let mut sets = HashMap::from([(starter.digest().to_owned(), starter)]);
        for file in files {
            let about = || format!("read {}", file.display());
            let version: VersionFile = serde_json::from_str(&text(file)?).with_context(about)?;
            let set = PolicySet::read(&version.policies, version.schema.as_deref());
            let set = set.map_err(|faults| told(&faults)).with_context(about)?;
            ensure!(
                set.digest() == version.digest,
                "{}: version {} says that its digest is {}, but it is {}: the file was altered",
                file.display(),
                version.version,
                version.digest,
                set.digest()
            );
            sets.insert(version.digest, set);
        }
        Ok(Self(sets))
    }
}

/// What came of a replay.
#[derive(Default)]
struct Tally {
    same: u64,
    different: u64,
    /// Events of the type that are no decisions of ours, or cannot be made again.
    unreadable: u64,
    /// Decisions that were recorded before there were policies of one's own: without their question.
    older: u64,
    /// Decisions whose policies look at the payload, which is not recorded.
    of_payloads: u64,
    /// Denials without asking the policies, because too many others were asked.
    busy: u64,
    /// Decisions whose version was not given.
    missing: u64,
    missing_versions: BTreeSet<(u32, String)>,
    /// Events of other types.
    others: u64,
    /// What the file says of itself, and whether that is so.
    is_whole: Option<bool>,
    /// Whether lines follow the one that says it.
    goes_on: bool,
}

/// The fields by which a line is told.
#[derive(Deserialize)]
struct Line {
    id: Option<String>,
    event_type: Option<String>,
    export: Option<Summary>,
}

/// A decision as it was recorded when everything was allowed: with these fields and no others.
#[derive(Deserialize)]
struct OlderDecision {
    result: String,
    metadata: OlderMetadata,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OlderMetadata {
    policies: [String; 1],
    #[serde(rename = "context")]
    _context: IgnoredAny,
}

impl OlderDecision {
    fn is_one(json: &str) -> bool {
        serde_json::from_str(json).is_ok_and(|decision: Self| {
            let [policy] = decision.metadata.policies;
            decision.result == result(Verdict::Allow) && policy == ALLOW_ALL
        })
    }
}

/// The last line of an export.
#[derive(Deserialize)]
struct Summary {
    sha256: String,
}

impl Tally {
    fn read(&mut self, mut lines: Box<dyn BufRead>, versions: &Versions) -> anyhow::Result<()> {
        let mut content = Sha256::new();
        let mut line = String::new();
        for number in 1_u64.. {
            line.clear();
            let read = lines.by_ref().take(LINE_BYTES_MAX).read_line(&mut line);
            if read.with_context(|| format!("read line {number}"))? == 0 {
                break;
            }
            let text = line.trim_end();
            if text.is_empty() {
                content.update(&line);
                continue;
            }
            self.goes_on |= self.is_whole.is_some();
            let about: Line =
                serde_json::from_str(text).with_context(|| format!("line {number} is not JSON"))?;
            if let Some(summary) = about.export {
                self.is_whole = Some(hex::encode(content.clone().finalize()) == summary.sha256);
            } else if about.event_type.as_deref() == Some(EVENT_TYPE) {
                self.look_at(text, about.id.as_deref().unwrap_or("an event"), versions);
            } else {
                self.others += 1;
            }
            content.update(&line);
        }
        Ok(())
    }

    fn look_at(&mut self, json: &str, id: &str, versions: &Versions) {
        let decision = match Recorded::read(json) {
            Ok(decision) => decision,
            Err(NotADecision::OtherShape) if OlderDecision::is_one(json) => {
                self.older += 1;
                return;
            }
            Err(NotADecision::NotAsked) => {
                self.busy += 1;
                return;
            }
            Err(reason) => return self.leave_out(id, reason),
        };
        let id = decision.decision_id();
        let Some(policies) = versions.0.get(&decision.digest) else {
            self.missing += 1;
            self.missing_versions
                .insert((decision.version, decision.digest));
            return;
        };
        match decision.check_again(policies) {
            Ok(()) => self.same += 1,
            Err(Differs::PayloadUnknown) => self.of_payloads += 1,
            Err(Differs::Unaskable(problem)) => {
                self.different += 1;
                say(format_args!(
                    "{id}: the question cannot be asked again: {problem}"
                ));
            }
            Err(Differs::Otherwise(now)) => {
                self.different += 1;
                let by: Vec<&str> = now.policies.iter().map(|policy| &*policy.id).collect();
                say(format_args!(
                    "{id}: recorded as {}{}, but version {} says {}{}",
                    decision.said.as_str(),
                    names(decision.policies.iter().map(String::as_str)),
                    decision.version,
                    now.verdict.as_str(),
                    names(by.into_iter()),
                ));
            }
        }
    }

    fn leave_out(&mut self, id: &str, reason: NotADecision) {
        self.unreadable += 1;
        say(format_args!("{id}: cannot be replayed: {reason}"));
    }

    fn tell(self, is_part: bool) -> anyhow::Result<()> {
        for (version, digest) in &self.missing_versions {
            say(format_args!(
                "Version {version} ({digest}) is missing: save `watchbell policy show {version} -o json` to a file and pass it."
            ));
        }
        say(format_args!(
            "{} the same, {} different, {} cannot be replayed, {} by missing versions; {} other events.",
            self.same, self.different, self.unreadable, self.missing, self.others
        ));
        if self.older > 0 {
            say(format_args!(
                "{} decisions predate custom policies; everything was allowed then.",
                self.older
            ));
        }
        if self.of_payloads > 0 {
            say(format_args!(
                "{} decisions were made by policies that look at the payload, which is not recorded, so they cannot be checked.",
                self.of_payloads
            ));
        }
        if self.busy > 0 {
            say(format_args!(
                "{} decisions were denied without evaluating the policies, because too many others were being evaluated.",
                self.busy
            ));
        }
        ensure!(
            !self.goes_on,
            "the file was altered: it continues after the line that proves it complete"
        );
        if self.is_whole == Some(true) {
            say("The file is complete: its last line proves it.");
        }
        ensure!(
            self.is_whole.is_some() || is_part,
            "the file does not end with the line that proves an export complete; pass --part if it is meant to be only part of one"
        );
        ensure!(
            self.is_whole != Some(false),
            "the file was altered: its SHA-256 is not the one in its last line"
        );
        ensure!(
            self.different + self.unreadable + self.missing == 0,
            "not every decision came out as recorded"
        );
        Ok(())
    }
}

/// ` by a, b`, or nothing.
fn names<'n>(policies: impl Iterator<Item = &'n str>) -> String {
    let policies: Vec<&str> = policies.collect();
    if policies.is_empty() {
        String::new()
    } else {
        format!(" by {}", policies.join(", "))
    }
}

fn text(file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| format!("read {}", file.display()))
}

fn told(faults: &[Fault]) -> anyhow::Error {
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    anyhow::anyhow!("cannot read these policies: {}", faults.join("; "))
}
