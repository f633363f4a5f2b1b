//! The comparison at the end: what the fleet lists, delivered and decided, with what the books say.

mod decisions;
mod deliveries;
mod duplicates;
mod limits;
#[cfg(test)]
mod tests;
mod trail;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use domain::RuleId;

use crate::books::Books;
use crate::fault::{Kind, PastFault};
use crate::fleet::node::Role;
use crate::workload::Customer;

pub(crate) use duplicates::Duplicates;

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// Accepted and not listed, or called for and not delivered.
    Lost,
    /// Of one organization, at another.
    Foreign,
    /// Listed twice, or sent again without an excuse.
    Doubled,
    /// Everything else.
    Untrue,
}

/// Everything that was found wrong; nothing, if all is well.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    lines: Vec<String>,
    counts: Vec<(Wrong, usize)>,
}

/// How much of one kind is printed.
const EXAMPLES: usize = 10;

impl Findings {
    /// Notes what is wrong, with a few examples.
    pub(crate) fn note(&mut self, wrong: Wrong, what: &str, examples: &[String]) {
        if examples.is_empty() {
            return;
        }
        self.counts.push((wrong, examples.len()));
        let shown = examples[..examples.len().min(EXAMPLES)].join("\n    ");
        self.lines
            .push(format!("{}: {what}\n    {shown}", examples.len()));
    }

    pub(crate) fn count(&self, wrong: Wrong) -> usize {
        let counts = self.counts.iter().filter(|(one, _)| *one == wrong);
        counts.map(|(_, count)| count).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }
}

/// What was counted, for the figures.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) events: usize,
    pub(crate) listed: usize,
    pub(crate) deliveries: usize,
    pub(crate) decisions: usize,
    pub(crate) stale_decisions: usize,
    pub(crate) admitted_at_most: usize,
    pub(crate) duplicates: Duplicates,
}

/// Waits until everything that is due has arrived, then compares.
pub(crate) async fn compare(
    customers: &[(Customer, RuleId)],
    books: &Books,
    faults: &[PastFault],
    within: Duration,
) -> anyhow::Result<(Counts, Findings)> {
    let (mut findings, deadline) = (Findings::default(), Instant::now() + within);
    deliveries::wait_until_arrived(books, deadline).await;
    let balances = deliveries::balances(customers, deadline).await?;
    let listed = trail::read(customers, deadline, &mut findings).await?;
    let pages = books.open();
    trail::check(&pages, &listed, &mut findings);
    deliveries::check(&pages, customers, &balances, &mut findings);
    let counts = Counts {
        events: pages.accepted.len(),
        listed: listed.iter().map(HashMap::len).sum(),
        deliveries: deliveries::count(&pages),
        decisions: pages.decisions.len(),
        stale_decisions: decisions::check(&pages, faults, &mut findings),
        admitted_at_most: limits::check(&pages, faults, &mut findings),
        duplicates: duplicates::check(&pages, faults, &mut findings),
    };
    findings.note(
        Wrong::Untrue,
        "requests or ids that nobody should ever see",
        &pages.oddities,
    );
    let is_clock = |fault: &PastFault| matches!(fault.fault.kind, Kind::Clock(Role::Deliver, _));
    if pages.refused > 0 && !faults.iter().any(is_clock) {
        let refused = format!("{} webhooks", pages.refused);
        findings.note(
            Wrong::Untrue,
            "wrong times though every clock was right",
            &[refused],
        );
    }
    drop(pages);
    Ok((counts, findings))
}
