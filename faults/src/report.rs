//! The figures: printed, and written into the page that publishes them. Nobody types them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use crate::audit::{Counts, Findings, Wrong};
use crate::books::{Books, Pages};
use crate::fault::PastFault;
use crate::workload::CUSTOMERS;

const BEGIN: &str = "<!-- begin: figures of `cargo xtask faults`; do not edit -->";
const END: &str = "<!-- end: figures -->";

/// What a run was.
pub(crate) struct Run<'r> {
    /// What the binaries say of themselves.
    pub(crate) version: &'r str,
    pub(crate) seed: u64,
    pub(crate) events_per_s: u32,
    pub(crate) lasted: Duration,
    pub(crate) counts: &'r Counts,
    pub(crate) faults: &'r [PastFault],
    pub(crate) findings: &'r Findings,
}

/// The figures as Markdown.
pub(crate) fn text(run: &Run<'_>, books: &Books) -> String {
    let counts = run.counts;
    let mut kinds: BTreeMap<String, Vec<(usize, &PastFault)>> = BTreeMap::new();
    for (place, fault) in run.faults.iter().enumerate() {
        kinds
            .entry(fault.fault.kind.to_string())
            .or_default()
            .push((place, fault));
    }
    let mut classes: Vec<&str> = run
        .faults
        .iter()
        .map(|fault| fault.fault.kind.class())
        .collect();
    classes.sort_unstable();
    classes.dedup();
    let pages = books.open();
    let mut text = String::new();
    let _ = writeln!(
        text,
        "In {} minutes ({}, seed {}, {} events a second): {} events accepted, {} listed, {} deliveries, {} decisions, {} changes of rules ({} of them failed and were not judged), {} faults of \
         {} classes in {} variants. **Lost: {}. Of another organization: {}. Doubled without an excuse: {}.** Sent again with one: {}; the \
         sender, or the journal, broke before the send was on record. Clients repeated {} requests. Decisions by a version that had just been replaced, \
         while something was broken: {}. Calls admitted in one window of the limit of 20: {} at most, where nodes counted by themselves or had forgotten. \
         Webhooks refused because a clock was wrong: {}. Processes of Watchbell that ended by themselves: {}.\n",
        run.lasted.as_secs() / 60,
        run.version,
        run.seed,
        run.events_per_s,
        grouped(counts.events),
        grouped(counts.listed),
        grouped(counts.deliveries),
        grouped(counts.decisions),
        pages.rule_changes,
        pages.unsure_changes,
        run.faults.len(),
        classes.len(),
        kinds.len(),
        run.findings.count(Wrong::Lost),
        run.findings.count(Wrong::Foreign),
        run.findings.count(Wrong::Doubled),
        counts.duplicates.by_fault.values().sum::<usize>(),
        pages.repeated,
        counts.stale_decisions,
        counts.admitted_at_most,
        pages.refused,
        exits(run.faults),
    );
    let _ = writeln!(
        text,
        "| fault | times | lasted, s | longest without an alert, s: p50 | max | first alert of what was sent after it, s: p50 | p99 | max | sent again |"
    );
    let _ = writeln!(text, "|---|---|---|---|---|---|---|---|---|");
    for (kind, faults) in kinds {
        let seconds = |duration: &dyn Fn(&PastFault) -> Duration| {
            let all = faults
                .iter()
                .map(|(_, fault)| duration(fault).as_secs_f64());
            let mut all: Vec<f64> = all.collect();
            all.sort_by(f64::total_cmp);
            all
        };
        let lasted = seconds(&|fault| fault.healed - fault.began);
        let silent = seconds(&|fault| longest_silence(&pages, fault));
        let recovered = seconds(&|fault| fault.recovered.saturating_duration_since(fault.healed));
        let again = faults
            .iter()
            .filter_map(|(place, _)| counts.duplicates.by_fault.get(place));
        let _ = writeln!(
            text,
            "| {kind} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {} |",
            faults.len(),
            at(&lasted, 50),
            at(&silent, 50),
            at(&silent, 100),
            at(&recovered, 50),
            at(&recovered, 99),
            at(&recovered, 100),
            again.sum::<usize>(),
        );
    }
    text
}

/// Two at once share what they caused.
fn exits(faults: &[PastFault]) -> usize {
    let mut began: Vec<_> = faults
        .iter()
        .map(|fault| (fault.began, fault.exits))
        .collect();
    began.dedup();
    began.iter().map(|(_, exits)| exits).sum()
}

/// The longest that an organization got no alert from when it began until all had one of what was sent after it.
fn longest_silence(pages: &Pages, fault: &PastFault) -> Duration {
    let silence = |org| {
        let arrivals = pages.arrivals.iter().filter(|it| it.to == org);
        let times = arrivals.map(|it| it.at).skip_while(|at| *at < fault.began);
        let times = times.take_while(|at| *at <= fault.recovered);
        let (last, longest) = times.fold((fault.began, Duration::ZERO), |(last, longest), at| {
            (at, longest.max(at - last))
        });
        longest.max(fault.recovered - last)
    };
    (0..CUSTOMERS).map(silence).max().unwrap_or_default()
}

/// Puts the figures where the page has room for them.
pub(crate) fn write(page: &Path, figures: &str) -> anyhow::Result<()> {
    let text = fs::read_to_string(page).with_context(|| format!("read {}", page.display()))?;
    let (before, rest) = text
        .split_once(BEGIN)
        .context("the page has no place for figures")?;
    let (_, after) = rest
        .split_once(END)
        .context("the place for figures has no end")?;
    fs::write(page, format!("{before}{BEGIN}\n\n{figures}\n{END}{after}"))?;
    Ok(())
}

/// The value below which so many percent of sorted figures are.
fn at(sorted: &[f64], percent: usize) -> f64 {
    let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(place).copied().unwrap_or_default()
}

/// 1,234,567.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
