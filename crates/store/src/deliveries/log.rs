//! Applies what the outcome log says, exactly once.

use std::collections::BTreeSet;

use domain::Day;
use sqlx::Connection;

use super::{
    Attempt, Delivery, Standing,
    balance::{self, Decided},
    stand, write,
};
use crate::{
    Error, Store,
    endpoints::{self, EndpointNotice},
    partitions::{self, Table},
    rule_counts::{self, RuleMatch},
    watermark::{Applied, Source, Span},
    writer::{Purpose, Writer},
};

/// What a span of the outcome log says, in its order.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    pub matched: Vec<Delivery>,
    pub attempts: Vec<Attempt>,
    pub standings: Vec<Standing>,
    pub matches: Vec<RuleMatch>,
    pub decided: Vec<Decided>,
    pub notices: Vec<EndpointNotice>,
}

/// Writes outcomes through a connection of its own.
#[derive(Debug)]
pub struct DeliveryLog {
    pub writer: Writer,
    delivery_days: BTreeSet<Day>,
    attempt_days: BTreeSet<Day>,
}

impl Store {
    pub async fn delivery_log(&self) -> Result<DeliveryLog, Error> {
        Ok(DeliveryLog {
            writer: self.writer().await?,
            delivery_days: BTreeSet::new(),
            attempt_days: BTreeSet::new(),
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

    /// Writes outcomes as if the log had them now.
    pub async fn write(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        self.run(Purpose::Write, outcomes).await.map(|_| ())
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
        if let Applied::MovedTo(position) = purpose.claim(&mut transaction).await? {
            return Ok(Applied::MovedTo(position));
        }
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
        write::deliveries(&mut transaction, &outcomes.matched).await?;
        write::attempts(&mut transaction, &outcomes.attempts).await?;
        stand::update(&mut transaction, &outcomes.standings).await?;
        rule_counts::add(&mut transaction, &outcomes.matches).await?;
        balance::add(&mut transaction, &outcomes.decided).await?;
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
