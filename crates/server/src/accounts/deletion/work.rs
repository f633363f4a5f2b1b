//! Deletes organisations whose time has come. Every process with the role `index` looks for them; one at a time deletes.

use std::time::Duration;

use archive::Bucket;
use domain::{RuleId, Timestamp, account::KeyHash, clock::Clock};
use journal::{Journal, config::Change};
use store::{
    Store,
    deletions::work::{Deleter, Unfinished},
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    announce::{self, Announcer},
    apply,
    error_chain::chain,
    exports::sweep,
    retry::Retries,
};

/// How often it is looked for them: how late one may begin.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// What deleting an organisation takes.
pub(crate) struct Deleting {
    pub(crate) store: Store,
    pub(crate) journal: Journal,
    pub(crate) announcer: Announcer,
    /// Where files of exports are; `None`: there are none.
    pub(crate) files: Option<Bucket>,
    pub(crate) clock: Clock,
}

/// Why an organisation was not deleted by this try.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("announce what is gone")]
    Announce(#[from] apply::Error),
    #[error(transparent)]
    Journal(#[from] journal::Error),
    #[error("delete the files of exports")]
    Files(#[from] archive::Error),
}

impl Deleting {
    /// Deletes until stopped. What is given up half-way is taken up again by whoever is next.
    pub(crate) async fn run(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let mut retries = Retries::new("delete organisations", &stopping);
        loop {
            let turn = async {
                sleep(LOOK_EVERY).await;
                self.round().await
            };
            let round = tokio::select! {
                round = turn => round,
                () = stopping.cancelled() => return Ok(()),
            };
            retries.again(round).await;
        }
    }

    async fn round(&self) -> Result<(), Error> {
        let now = self.now().await?;
        if !self.store.has_deletions(now).await? {
            return Ok(());
        }
        let Some(mut deleter) = self.store.deleter().await? else {
            return Ok(());
        };
        deleter.begin(now).await?;
        for unfinished in deleter.unfinished(now).await? {
            // One that cannot be deleted now holds up no other, and is tried again by the next round.
            if let Err(error) = self.delete(&mut deleter, unfinished).await {
                let (org, error) = (unfinished.org, chain(&error));
                tracing::warn!(org.id = %org, error, "an organisation is not all deleted yet");
            }
        }
        Ok(())
    }

    /// Every step may have been taken before. First whatever lets somebody in or has something sent, made known to every
    /// node; then what was recorded; the organisation last.
    async fn delete(
        &self,
        deleter: &mut Deleter,
        Unfinished { org, is_last_look }: Unfinished,
    ) -> Result<(), Error> {
        let people = deleter.delete_people(org).await?;
        let key_gone = |hash: &KeyHash| announce::entry(Change::key_gone(hash));
        deleter.delete_keys(org, key_gone).await?;
        let rule_gone = |rule: RuleId| announce::entry(Change::rule_gone(org, rule));
        deleter.delete_rules(org, rule_gone).await?;
        let guard_gone = announce::entry(Change::guard_gone(org));
        deleter.delete_guard(org, &guard_gone).await?;
        let secrets_gone = announce::entry(Change::secrets_gone(org));
        deleter.delete_secrets(org, &secrets_gone).await?;
        self.announcer.announce().await?;
        self.journal.forget_organisation(org).await?;
        let rows = deleter.delete_rows(org).await?;
        if let Some(files) = &self.files {
            files.delete_below(&sweep::folder_of(org)).await?;
        }
        // Not the time at which the round began: much may have been deleted since.
        let now = self.now().await?;
        if !deleter.delete_organisation(org, now).await? {
            tracing::info!(org.id = %org, "something was made while an organisation was deleted, looking again");
            return Ok(());
        }
        if is_last_look {
            deleter.finish(org, now).await?;
        }
        tracing::info!(org.id = %org, people, rows, is_last_look, "deleted an organisation");
        Ok(())
    }

    /// A clock that is ahead would delete what somebody may still keep, so the earlier of two is believed.
    async fn now(&self) -> Result<Timestamp, store::Error> {
        Ok(self.clock.now().min(self.store.now().await?))
    }
}
