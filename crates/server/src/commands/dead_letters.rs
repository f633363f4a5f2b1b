//! `watchbell dead-letters`: shows the records that could not be applied, and applies them again.

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use journal::{Journal, dead_letters::Numbered};

use super::{WithConfig, say};
use crate::{
    node,
    redrive::{self, Redriven},
    transparency,
};

/// How many are listed; whoever has more has one problem, not many.
const LISTED_MAX: usize = 1_000;
/// How many are read at a time when all are applied again; each has at most 512 KiB.
const REDRIVEN_AT_ONCE: usize = 20;

#[derive(Debug, Subcommand)]
pub(super) enum DeadLetters {
    /// Print the records that could not be applied, oldest first.
    List(WithConfig),
    /// Apply them again, once the cause is fixed. Safe to repeat.
    Redrive(Redrive),
}

#[derive(Debug, Args)]
pub(super) struct Redrive {
    #[command(flatten)]
    with: WithConfig,
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// All of them.
    #[arg(long)]
    all: bool,
    /// The one with this number in the list.
    number: Option<u64>,
}

impl DeadLetters {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::List(with) => list(&node::connect_journal(&with.load()?).await?).await,
            Self::Redrive(command) => command.run().await,
        }
    }
}

async fn list(journal: &Journal) -> anyhow::Result<()> {
    let letters = journal.dead_letters(0, LISTED_MAX).await?;
    if letters.is_empty() {
        say("There are no dead letters.");
        return Ok(());
    }
    say(format_args!(
        "{:>8}  {:<24}  {:<24}  {:<30}  reason",
        "number", "when", "log", "record"
    ));
    for numbered in &letters {
        let letter = &numbered.letter;
        let record = match redrive::ids(journal, numbered).as_slice() {
            [id] => id.clone(),
            _ => format!("message {}", letter.sequence),
        };
        say(format_args!(
            "{:>8}  {}  {:<24}  {record:<30}  {}",
            numbered.number, letter.at, letter.log, letter.reason
        ));
    }
    let more = journal.count_dead_letters().await? > letters.len() as u64;
    if more {
        say(format_args!(
            "There are more; these are the oldest {LISTED_MAX}."
        ));
    }
    Ok(())
}

impl Redrive {
    async fn run(self) -> anyhow::Result<()> {
        let config = self.with.load()?;
        let journal = node::connect_journal(&config).await?;
        // What is written now gets its leaf as what was written by itself did.
        let (store, _) = transparency::with_log(
            node::open_store_for_command(&config)?,
            journal.partitions(),
            config.files.open()?.as_ref(),
            &config.secrets.vault()?,
        )
        .await;
        let (mut applied, mut failed, mut after) = (0, 0, 0);
        loop {
            let letters = match self.which.number {
                Some(number) => vec![the_one(&journal, number).await?],
                None => journal.dead_letters(after, REDRIVEN_AT_ONCE).await?,
            };
            for numbered in &letters {
                let number = numbered.number;
                match redrive::redrive(&journal, &store, numbered).await? {
                    Redriven::Applied => {
                        applied += 1;
                        say(format_args!("{number:>8}  applied"));
                    }
                    Redriven::StillFails(reason) => {
                        failed += 1;
                        say(format_args!("{number:>8}  still fails: {reason}"));
                    }
                }
                after = number;
            }
            if letters.is_empty() || self.which.number.is_some() {
                break;
            }
        }
        say(format_args!("{applied} applied, {failed} still fail."));
        ensure!(
            failed == 0,
            "{failed} dead letters still cannot be applied and were kept"
        );
        Ok(())
    }
}

async fn the_one(journal: &Journal, number: u64) -> anyhow::Result<Numbered> {
    let from_there = journal.dead_letters(number.saturating_sub(1), 1).await?;
    let found = from_there.into_iter().find(|one| one.number == number);
    found.with_context(|| format!("there is no dead letter {number}"))
}
