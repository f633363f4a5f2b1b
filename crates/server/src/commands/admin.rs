//! `watchbell admin`: what an operator does by hand.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use domain::{
    Day, OrgId, Timestamp,
    account::{EmailAddress, SecretToken, TokenKind},
};
use runtime::random;

use super::{WithConfig, say};
use crate::{
    accounts::new_organization::found,
    announce::Announcer,
    announce_again::compare::{COMPARED, Cause, State, differences},
    events::archive::archive_day,
    node, system_clock,
    transparency::rotate,
};

#[derive(Debug, Subcommand)]
pub(super) enum Admin {
    /// Create an organization with its first user and an API key; prints them once, with the secret that signs its webhooks, as
    /// JSON.
    CreateOrg(CreateOrg),
    /// Print a link for choosing a new password, valid once and for 30 minutes; for when mail
    /// cannot reach the person.
    ResetLink(ResetLink),
    /// Schedule the deletion of an organization with everything in it; prints when, as JSON. The server deletes it then; until then an
    /// owner can cancel.
    DeleteOrg(DeleteOrg),
    /// Write a day of the trail to a file under `files.url`, where exports read it; prints which, as
    /// JSON. The day stays in the database.
    ArchiveDay(ArchiveDay),
    /// Announce all keys, rules, policies and signing secrets again, after the journal or the database was lost or restored;
    /// prints what differed, as JSON.
    Announce(Announce),
    /// Replace the key that signs an organization's transparency log: a new key signs beside the old one from then on. Once auditors
    /// and witnesses have it, retire the old one with --retire. Prints the public keys that sign, as JSON.
    RotateLogKey(RotateLogKey),
    /// Resume an organization's transparency log that stopped because its files contradicted what was signed. Put the files back
    /// first. Prints why it had stopped, as JSON.
    ResumeLog(ResumeLog),
}

#[derive(Debug, Args)]
pub(super) struct ResumeLog {
    #[command(flatten)]
    with: WithConfig,
    /// The organization's id, `org_...`.
    #[arg(long)]
    org: String,
}

#[derive(Debug, Args)]
pub(super) struct RotateLogKey {
    #[command(flatten)]
    with: WithConfig,
    /// The organization's id, `org_...`.
    #[arg(long)]
    org: String,
    /// Retire the old key; the new one signs alone from then on.
    #[arg(long)]
    retire: bool,
}

#[derive(Debug, Args)]
pub(super) struct Announce {
    #[command(flatten)]
    with: WithConfig,
    /// Only print what differs.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
pub(super) struct CreateOrg {
    #[command(flatten)]
    with: WithConfig,
    /// The organization's name.
    #[arg(long)]
    name: String,
    /// The first user's email address.
    #[arg(long)]
    email: String,
}

#[derive(Debug, Args)]
pub(super) struct ResetLink {
    #[command(flatten)]
    with: WithConfig,
    /// The person's email address.
    #[arg(long)]
    email: String,
}

#[derive(Debug, Args)]
pub(super) struct DeleteOrg {
    #[command(flatten)]
    with: WithConfig,
    /// The organization's id, `org_...`.
    #[arg(long)]
    org: String,
    /// Days until the deletion, 0 for immediately; defaults to `accounts.deletion_delay_days`.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(..=365))]
    after_days: Option<u32>,
}

#[derive(Debug, Args)]
pub(super) struct ArchiveDay {
    #[command(flatten)]
    with: WithConfig,
    /// The day, in UTC, such as 2026-11-15.
    day: String,
}

impl Admin {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::CreateOrg(command) => command.run().await,
            Self::ResetLink(command) => command.run().await,
            Self::DeleteOrg(command) => command.run().await,
            Self::ArchiveDay(command) => command.run().await,
            Self::Announce(command) => command.run().await,
            Self::RotateLogKey(command) => command.run().await,
            Self::ResumeLog(command) => command.run().await,
        }
    }
}

impl CreateOrg {
    async fn run(self) -> anyhow::Result<()> {
        let Self { with, name, email } = self;
        let config = with.load()?;
        let store = node::open_store_for_command(&config)?;
        let journal = node::connect_journal(&config).await?;
        let deployment = config.delivery.deployment_keys();
        let clock = system_clock::SYSTEM;
        let founded = found(&store, &journal, clock, &deployment, &name, &email).await?;
        say(serde_json::to_string(&founded)?);
        Ok(())
    }
}

impl ResetLink {
    async fn run(self) -> anyhow::Result<()> {
        let config = self.with.load()?;
        let email = EmailAddress::parse(&self.email)
            .with_context(|| format!("`{}` is not an email address", self.email))?;
        let token = SecretToken::new(TokenKind::Link, random::bytes());
        let saved = node::open_store_for_command(&config)?
            .save_password_reset(&email, &token.hash(), system_clock::SYSTEM.now())
            .await?;
        ensure!(saved, "there is no account with the address {}", self.email);
        let link = config
            .http
            .public_url
            .link("reset-password", token.reveal());
        say(serde_json::json!({"link": link, "token": token.reveal()}));
        Ok(())
    }
}

impl DeleteOrg {
    async fn run(self) -> anyhow::Result<()> {
        let config = self.with.load()?;
        let org: OrgId = self
            .org
            .parse()
            .with_context(|| format!("`{}` is not an organization id", self.org))?;
        let days = self
            .after_days
            .unwrap_or(config.accounts.deletion_delay_days);
        let now = system_clock::SYSTEM.now();
        let deletes_at = now.plus(Duration::from_hours(24) * days);
        let name = node::open_store_for_command(&config)?
            .schedule_deletion_by_operator(org, deletes_at, now)
            .await?
            .with_context(|| {
                format!("there is no organization {org}, or it is already being deleted")
            })?;
        say(serde_json::json!({"org_id": org, "name": name, "deletes_at": deletes_at}));
        Ok(())
    }
}

impl ArchiveDay {
    async fn run(self) -> anyhow::Result<()> {
        let config = self.with.load()?;
        let start = Timestamp::parse(&format!("{}T00:00:00Z", self.day));
        let day = Day::of(
            start.with_context(|| format!("`{}` is not a day such as 2026-11-15", self.day))?,
        );
        let files = config.files.open()?.context("files.url is not set")?;
        let store = node::open_store_for_command(&config)?;
        let now = system_clock::SYSTEM.now();
        let archived = archive_day(&store, &files, day, now).await?;
        let archived = archived.with_context(|| format!("the database has no events for {day}"))?;
        let file = archived.file;
        say(serde_json::json!({
            "day": self.day, "file": file.file, "events": file.events, "bytes": file.bytes,
            "sha256": file.sha256,
        }));
        Ok(())
    }
}

impl Announce {
    async fn run(self) -> anyhow::Result<()> {
        let config = self.with.load()?;
        let store = node::open_store_for_command(&config)?;
        let journal = node::connect_journal(&config).await?;
        let now = system_clock::SYSTEM.now();
        let found = if self.dry_run {
            differences(&store, &journal, &COMPARED, now).await?
        } else {
            Announcer::new(store, journal)
                .announce_again(&COMPARED, now, Cause::Asked)
                .await?
        };
        let of = |state: State| found.iter().filter(|one| one.state == state).count();
        say(serde_json::json!({
            "announced": !self.dry_run,
            "missing": of(State::Missing), "stale": of(State::Stale), "unknown": of(State::Unknown),
            "differences": found,
        }));
        Ok(())
    }
}

impl ResumeLog {
    async fn run(self) -> anyhow::Result<()> {
        let config = self.with.load()?;
        let org: OrgId = self
            .org
            .parse()
            .with_context(|| format!("`{}` is not an organization id", self.org))?;
        let store = node::open_store_for_command(&config)?;
        let now = system_clock::SYSTEM.now();
        let reason = store.resume_transparency_log(org, now).await?;
        let reason = reason.with_context(|| format!("no transparency log of {org} is stopped"))?;
        say(serde_json::json!({"org_id": org, "had_stopped": reason}));
        Ok(())
    }
}

impl RotateLogKey {
    async fn run(self) -> anyhow::Result<()> {
        let config = self.with.load()?;
        let org: OrgId = self
            .org
            .parse()
            .with_context(|| format!("`{}` is not an organization id", self.org))?;
        let store = node::open_store_for_command(&config)?;
        let clock = system_clock::SYSTEM;
        let signing = if self.retire {
            rotate::retire(&store, clock, org).await?
        } else {
            rotate::add(&store, &config.secrets.vault()?, clock, org).await?
        };
        say(serde_json::to_string(&signing)?);
        Ok(())
    }
}
