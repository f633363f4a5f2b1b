//! Deletes organizations whose time has come. Every process with the role `index` looks for them; one at a time deletes.

use std::time::Duration;

use archive::Bucket;
use domain::{OrgId, RuleId, Timestamp, account::KeyHash, clock::Clock};
use journal::{Journal, kv::Change};
use runtime::{error_chain::chain, retry::Retries};
use store::{
    Store,
    deletions::purge::{Deleter, Emptied, Unfinished},
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    announce::{self, Announcer},
    apply_log,
    exports::cleanup,
    transparency,
};

/// How often it is looked for them: how late one may begin.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// What deleting an organization takes.
pub(crate) struct Deleting {
    pub(crate) store: Store,
    pub(crate) journal: Journal,
    pub(crate) announcer: Announcer,
    /// Where files of exports are; `None`: there are none.
    pub(crate) files: Option<Bucket>,
    pub(crate) clock: Clock,
}

/// Why an organization was not deleted by this try.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("announce what was deleted")]
    Announce(#[from] apply_log::Error),
    #[error(transparent)]
    Journal(#[from] journal::Error),
    #[error("delete the files of exports")]
    Files(#[from] archive::Error),
}

impl Deleting {
    /// Deletes until stopped. What is given up half-way is taken up again by whoever is next.
    pub(crate) async fn run(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let mut retries = Retries::new("delete organizations", &stopping);
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
        // All are shut before any is emptied, which takes long if it is large.
        let mut shut = Vec::new();
        for unfinished in deleter.unfinished(now).await? {
            match self.shut(&mut deleter, unfinished.org).await {
                Ok(()) => shut.push(unfinished),
                Err(error) => put_off(unfinished.org, &error),
            }
        }
        for unfinished in shut {
            if let Err(error) = self.empty(&mut deleter, unfinished).await {
                put_off(unfinished.org, &error);
            }
        }
        Ok(())
    }

    /// Deletes whatever lets somebody in or has something sent, and has every node know it. Each step may have been taken
    /// before.
    async fn shut(&self, deleter: &mut Deleter, org: OrgId) -> Result<(), Error> {
        deleter.withdraw_log(org).await?;
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
        if people > 0 {
            tracing::info!(org.id = %org, people, "closed an organization that is being deleted");
        }
        Ok(())
    }

    /// Deletes what was recorded, as far as one turn goes, and the organization last. Each step may have been taken before.
    async fn empty(
        &self,
        deleter: &mut Deleter,
        Unfinished { org, is_last_look }: Unfinished,
    ) -> Result<(), Error> {
        let Emptied { rows, is_all } = deleter.delete_rows(org).await?;
        if !is_all {
            tracing::info!(org.id = %org, rows, "deleted part of an organization");
            return Ok(());
        }
        self.journal.forget_organization(org).await?;
        if let Some(files) = &self.files {
            files.delete_below(&cleanup::folder_of(org)).await?;
            files.delete_below(&transparency::folder_of(org)).await?;
        }
        // Not the time at which the round began: much may have been deleted since.
        let now = self.now().await?;
        if !deleter.delete_organization(org, now).await? {
            tracing::info!(org.id = %org, "something was created while an organization was being deleted; checking again");
            return Ok(());
        }
        if is_last_look {
            deleter.finish(org, now).await?;
        }
        tracing::info!(org.id = %org, rows, is_last_look, "deleted an organization");
        Ok(())
    }

    /// A clock that is ahead would delete what somebody may still keep, so the earlier of two is believed.
    async fn now(&self) -> Result<Timestamp, store::Error> {
        Ok(self.clock.now().min(self.store.now().await?))
    }
}

/// One that cannot be deleted now holds up no other, and is tried again by the next round.
fn put_off(org: OrgId, error: &Error) {
    let error = chain(error);
    tracing::warn!(org.id = %org, error, "an organization is not completely deleted yet");
}
