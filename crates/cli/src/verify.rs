//! `watchbell verify` and `watchbell sign`: the signature library by hand, without a server.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use domain::Timestamp;
use serde_json::json;
use webhook_signature::{Verifier, sign};

use crate::{
    exit, input,
    machine::{CLOCK, system_time},
    moment,
    output::{Form, say, say_json},
    secret::Secret,
};

#[derive(Debug, Args)]
pub struct Verify {
    /// The raw body of the delivery; `-`, the default, is standard input.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The value of X-Service-Timestamp.
    #[arg(long)]
    timestamp: Option<String>,
    /// The value of X-Service-Signature.
    #[arg(long)]
    signature: Option<String>,
    /// Verify as of this time: for a stored delivery that would be too old by now.
    #[arg(long, value_name = "TIME", value_parser = moment::argument)]
    at: Option<Timestamp>,
    #[command(flatten)]
    secret: Secret,
    /// Output format: a table for people, or JSON for programs.
    #[arg(long, short, value_enum, default_value_t)]
    output: Form,
}

impl Verify {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let verifier = Verifier::new(self.secret.read()?);
        let body = input::bytes(self.file.as_deref())?;
        let now = self.at.unwrap_or_else(|| CLOCK.now());
        let (timestamp, signature) = (self.timestamp.as_deref(), self.signature.as_deref());
        let verdict = verifier.verify(timestamp, signature, &body, system_time(now));
        let (status, code) = match &verdict {
            Ok(()) => (200, "verified"),
            Err(refusal) => (refusal.http_status(), refusal.code()),
        };
        let detail = match &verdict {
            Ok(()) => "signed with the secret, and recent".to_owned(),
            Err(refusal) => refusal.to_string(),
        };
        let said = match self.output {
            Form::Table if verdict.is_ok() => say(format_args!("verified: {detail}")),
            Form::Table => say(format_args!("refused ({status}): {detail}")),
            Form::Json => say_json(&json!({
                "verified": verdict.is_ok(), "status": status, "code": code, "detail": detail,
            })),
        };
        exit::with(exit::done_if(verdict.is_ok()), said)
    }
}

#[derive(Debug, Args)]
pub struct Sign {
    /// The raw body to sign; `-`, the default, is standard input.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The signing time, in the format of the header; defaults to now.
    #[arg(long)]
    timestamp: Option<String>,
    #[command(flatten)]
    secret: Secret,
    /// Output format: a table for people, or JSON for programs.
    #[arg(long, short, value_enum, default_value_t)]
    output: Form,
}

impl Sign {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let secrets = self.secret.read()?;
        let body = input::bytes(self.file.as_deref())?;
        let timestamp = self.timestamp.unwrap_or_else(|| CLOCK.now().to_string());
        let signature = sign(secrets[0].as_bytes(), &timestamp, &body);
        match self.output {
            Form::Table => {
                say(format_args!("X-Service-Timestamp: {timestamp}"))?;
                say(format_args!("X-Service-Signature: {signature}"))?;
            }
            Form::Json => say_json(&json!({"timestamp": timestamp, "signature": signature}))?,
        }
        Ok(exit::DONE)
    }
}
