//! Applies what the outcome log says, exactly once.

use std::collections::{BTreeSet, HashSet};

use domain::{Day, OrgId, partition::Partitions};
use sqlx::Connection;

use super::{
    Attempt, Delivery, StateUpdate,
    balance::{self, Decided},
    new_rows, state, write,
};
use crate::{
    Error, Store,
    deletions::tombstones,
    endpoints::{self, EndpointNotice},
    partitions::{self, Table},
    rule_counts::{self, RuleMatch},
    transparency::outbox,
    watermark::{Applied, Source, Span},
    writer::{Purpose, Writer},
};

/// What a span of the outcome log says, in its order.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    pub matched: Vec<Delivery>,
    pub attempts: Vec<Attempt>,
    pub standings: Vec<StateUpdate>,
    pub matches: Vec<RuleMatch>,
    pub decided: Vec<Decided>,
    pub notices: Vec<EndpointNotice>,
}

impl Outcomes {
    /// Whose they are, with repetitions.
    fn orgs(&self) -> impl Iterator<Item = OrgId> {
        let matched = self.matched.iter().map(|one| one.org);
        matched
            .chain(self.attempts.iter().map(|one| one.org))
            .chain(self.standings.iter().map(|one| one.org))
            .chain(self.matches.iter().map(|one| one.org))
            .chain(self.decided.iter().map(|one| one.org))
            .chain(self.notices.iter().map(|one| one.endpoint.org_id))
    }

    /// What they say of other organizations than these.
    fn without(&self, deleted: &HashSet<OrgId>) -> Self {
        let mut left = self.clone();
        left.matched.retain(|one| !deleted.contains(&one.org));
        left.attempts.retain(|one| !deleted.contains(&one.org));
        left.standings.retain(|one| !deleted.contains(&one.org));
        left.matches.retain(|one| !deleted.contains(&one.org));
        left.decided.retain(|one| !deleted.contains(&one.org));
        left.notices
            .retain(|one| !deleted.contains(&one.endpoint.org_id));
        left
    }
}

/// Writes outcomes through a connection of its own.
#[derive(Debug)]
pub struct DeliveryLog {
    pub writer: Writer,
    delivery_days: BTreeSet<Day>,
    attempt_days: BTreeSet<Day>,
    transparency: Option<Partitions>,
}

impl Store {
    pub async fn delivery_log(&self) -> Result<DeliveryLog, Error> {
        Ok(DeliveryLog {
            writer: self.writer().await?,
            delivery_days: BTreeSet::new(),
            attempt_days: BTreeSet::new(),
            transparency: self.transparency,
        })
    }
}

impl DeliveryLog {
    /// Applies a span of an outcome log: rows and position together, or neither.
    pub async fn apply(
        &mut self,
        source: &Source,
        span: Span,
        outcomes: &Outcomes,
    ) -> Result<Applied, Error> {
        self.run(Purpose::Apply(source, span), outcomes).await
    }

    /// Writes the outcomes of a dead letter as if the log had them now.
    pub async fn redrive(&mut self, place: &str, outcomes: &Outcomes) -> Result<(), Error> {
        let purpose = Purpose::Redrive(place);
        self.run(purpose, outcomes).await.map(|_| ())
    }

    /// Whether these outcomes would be written. None is.
    pub async fn rehearse(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        self.run(Purpose::Rehearse, outcomes).await.map(|_| ())
    }

    async fn run(&mut self, purpose: Purpose<'_>, outcomes: &Outcomes) -> Result<Applied, Error> {
        match self.run_once(purpose, outcomes).await {
            // PostgreSQL says the same of a row whose day was dropped since we saw it.
            Err(error) if error.refuses_data() && self.forget_days() => {
                self.run_once(purpose, outcomes).await
            }
            outcome => outcome,
        }
    }

    /// Whether there were any to forget.
    fn forget_days(&mut self) -> bool {
        let knew = !self.delivery_days.is_empty() || !self.attempt_days.is_empty();
        self.delivery_days.clear();
        self.attempt_days.clear();
        knew
    }

    async fn run_once(
        &mut self,
        purpose: Purpose<'_>,
        outcomes: &Outcomes,
    ) -> Result<Applied, Error> {
        let mut transaction = self.writer.connection.begin().await?;
        if let Some(applied) = purpose.claim(&mut transaction).await? {
            return Ok(applied);
        }
        let deleted = tombstones::among(&mut transaction, outcomes.orgs()).await?;
        let left: Outcomes;
        let outcomes = if deleted.is_empty() {
            outcomes
        } else {
            left = outcomes.without(&deleted);
            &left
        };
        let matched = outcomes.matched.iter().map(|delivery| delivery.id.uuid());
        let delivery_days = partitions::ensure(
            &mut transaction,
            Table::Deliveries,
            matched,
            &self.delivery_days,
        )
        .await?;
        let attempted = outcomes
            .attempts
            .iter()
            .map(|attempt| attempt.delivery.uuid());
        let attempt_days = partitions::ensure(
            &mut transaction,
            Table::DeliveryAttempts,
            attempted,
            &self.attempt_days,
        )
        .await?;
        let known = write::deliveries(&mut transaction, &outcomes.matched).await?;
        let mut new = write::attempts(&mut transaction, &outcomes.attempts).await?;
        if let Some(partitions) = self.transparency {
            let attempts = outcomes.attempts.iter();
            let attempts = attempts.filter(|attempt| new.remove(&attempt.id.uuid()));
            let leaves = attempts.filter_map(|attempt| Some((attempt.org, attempt.leaf()?)));
            outbox::put(&mut transaction, partitions, leaves).await?;
        }
        state::update(&mut transaction, &outcomes.standings).await?;
        let matches = new_rows::matches(&mut transaction, purpose, outcomes, &known).await?;
        rule_counts::add(&mut transaction, &matches).await?;
        balance::add(&mut transaction, &new_rows::decided(outcomes, &known)).await?;
        endpoints::note(&mut transaction, &outcomes.notices).await?;
        purpose.end(transaction).await?;
        // A rehearsal leaves no day behind either.
        if !matches!(purpose, Purpose::Rehearse) {
            self.delivery_days.extend(delivery_days);
            self.attempt_days.extend(attempt_days);
        }
        Ok(Applied::Done)
    }
}
