//! The comparison at the end: what the fleet lists, delivered and decided, with what the books say.

mod decisions;
mod deliveries;
mod duplicates;
mod limits;
#[cfg(test)]
mod tests;
mod trail;

use std::time::Duration;

use domain::RuleId;

use crate::books::Pages;
use crate::fault::Happened;
use crate::workload::Customer;

pub(crate) use duplicates::Duplicates;

/// Everything that was found wrong; nothing, if all is well.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    wrong: Vec<String>,
    total: usize,
}

/// How much of one kind is printed.
const EXAMPLES: usize = 10;

impl Findings {
    /// Notes what is wrong, with a few examples.
    pub(crate) fn note(&mut self, what: &str, examples: &[String]) {
        if examples.is_empty() {
            return;
        }
        self.total += examples.len();
        let shown = examples[..examples.len().min(EXAMPLES)].join("\n    ");
        self.wrong
            .push(format!("{}: {what}\n    {shown}", examples.len()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.wrong
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
    books: &crate::books::Books,
    faults: &[Happened],
    within: Duration,
) -> (Counts, Findings) {
    let mut findings = Findings::default();
    deliveries::wait_until_arrived(books, within).await;
    let listed = trail::read(customers, &mut findings).await;
    let balances = deliveries::balances(customers, within).await;
    let pages = books.open();
    trail::check(&pages, &listed, &mut findings);
    deliveries::check(&pages, customers, &balances, &mut findings);
    let counts = Counts {
        events: pages.accepted.len(),
        listed: listed.iter().map(std::collections::HashMap::len).sum(),
        deliveries: deliveries::count(&pages),
        decisions: pages.decisions.len(),
        stale_decisions: decisions::check(&pages, faults, &mut findings),
        admitted_at_most: limits::check(&pages, faults, &mut findings),
        duplicates: duplicates::check(&pages, faults, &mut findings),
    };
    note_oddities(&pages, &mut findings);
    drop(pages);
    (counts, findings)
}

fn note_oddities(pages: &Pages, findings: &mut Findings) {
    findings.note(
        "requests that are no webhooks of the receiver's organization",
        &pages.oddities,
    );
}
