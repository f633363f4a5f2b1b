//! Rules about what operators watch: metrics that exist, and alerts that are tested and say what to do.

use super::Finding;
use super::tree::{File, Tree};

/// The files in which crates name their metrics; whatever looks like one in quotes there is one.
const NAMED_IN: &str = "/metrics.rs";
const USED_IN: [&str; 2] = ["deploy/", RUNBOOKS];
const PREFIX: &str = "watchbell_";

const ALERTS: &str = "deploy/prometheus/alerts.yaml";
const ALERT_TESTS: &str = "deploy/prometheus/alerts.test.yaml";
const RUNBOOKS: &str = "docs/how-to/monitoring.md";

pub(super) fn unknown_metric(tree: &Tree) -> Vec<Finding> {
    let named = tree.under("crates/");
    let known: Vec<&str> = named
        .filter(|file| file.path.ends_with(NAMED_IN))
        .flat_map(|file| file.lines().flat_map(|(_, line)| names(line)))
        .filter(|name| name.is_quoted)
        .map(|name| name.text)
        .collect();
    let used = USED_IN.iter().flat_map(|place| tree.under(place));
    let mut findings = Vec::new();
    for (file, number, name) in used.flat_map(|file| {
        let of_line = move |(number, line)| names(line).map(move |name| (file, number, name.text));
        file.lines().flat_map(of_line)
    }) {
        if !known.contains(&name) && !histogram(name).is_some_and(|name| known.contains(&name)) {
            let message = format!("no metric is called `{name}`");
            findings.push(Finding::at_line(file, number, message));
        }
    }
    findings
}

pub(super) fn alert_without_runbook(tree: &Tree) -> Vec<Finding> {
    let Some(alerts) = tree.get(ALERTS) else {
        return Vec::new();
    };
    let text = |path| tree.get(path).map_or("", |file| file.text.as_str());
    let (tests, runbooks) = (text(ALERT_TESTS), text(RUNBOOKS));
    let mut findings = Vec::new();
    for (number, alert) in after(alerts, "- alert: ") {
        if !tests.contains(&format!("alertname=\"{alert}\"")) {
            let message = format!("{ALERT_TESTS} does not make {alert} ring");
            findings.push(Finding::at_line(alerts, number, message));
        }
        if !runbooks.lines().any(|line| line == format!("### {alert}")) {
            let message = format!("{RUNBOOKS} has no section {alert}");
            findings.push(Finding::at_line(alerts, number, message));
        }
    }
    let page = tree.get(RUNBOOKS).into_iter();
    for (page, number, section) in page.flat_map(|page| {
        after(page, "### Watchbell").map(move |(number, name)| (page, number, name))
    }) {
        if !after(alerts, "- alert: Watchbell").any(|(_, alert)| alert == section) {
            let message = format!("no alert is called Watchbell{section}");
            findings.push(Finding::at_line(page, number, message));
        }
    }
    findings
}

/// What stands behind `mark` in the lines that begin with it.
fn after<'a>(file: &'a File, mark: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let behind = move |line: &'a str| line.trim_start().strip_prefix(mark).map(str::trim);
    file.lines()
        .filter_map(move |(number, line)| Some((number, behind(line)?)))
}

struct Name<'a> {
    text: &'a str,
    is_quoted: bool,
}

/// Every word of a line that begins like a metric.
fn names(line: &str) -> impl Iterator<Item = Name<'_>> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    line.match_indices(PREFIX).filter_map(move |(at, _)| {
        let (before, rest) = line.split_at(at);
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (text, behind) = rest.split_at(end);
        let is_word = !before.ends_with(|c: char| is_part(c) || "-/.".contains(c));
        is_word.then_some(Name {
            text,
            is_quoted: before.ends_with('"') && behind.starts_with('"'),
        })
    })
}

/// The histogram that a series belongs to.
fn histogram(series: &str) -> Option<&str> {
    ["_bucket", "_sum", "_count"]
        .iter()
        .find_map(|suffix| series.strip_suffix(suffix))
        .filter(|name| name.ends_with("_seconds"))
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn a_metric_that_nobody_counts_is_found() {
        let names = "const A: &str = \"watchbell_events_total\";\n\
                     /// Not one: watchbell_gone_total.\nconst B: &str = \"watchbell_lag_seconds\";\n";
        let rules = "expr: rate(watchbell_events_total[5m])\nexpr: watchbell_gone_total > 0\n\
                     expr: watchbell_lag_seconds_bucket\nexpr: watchbell_events_total_count\n\
                     expr: watchbell_nodes\nname: my_watchbell_x\n";
        let found = places(
            unknown_metric,
            &[
                ("crates/server/src/telemetry/metrics.rs", names),
                (
                    "crates/limits/src/metrics.rs",
                    "const C: &str = \"watchbell_nodes\";\n",
                ),
                ("deploy/prometheus/alerts.yaml", rules),
                ("docs/how-to/monitoring.md", "`watchbell_lost_total`\n"),
            ],
        );
        assert_eq!(
            found,
            [
                "deploy/prometheus/alerts.yaml:2",
                "deploy/prometheus/alerts.yaml:4",
                "docs/how-to/monitoring.md:1"
            ]
        );
    }

    #[test]
    fn an_alert_is_tested_and_says_what_to_do() {
        let alerts = "rules:\n  - alert: WatchbellDown\n  - alert: WatchbellLate\n";
        let found = places(
            alert_without_runbook,
            &[
                (ALERTS, alerts),
                (ALERT_TESTS, "{alertname=\"WatchbellDown\"}\n"),
                (RUNBOOKS, "### WatchbellDown\n### WatchbellGone\n"),
            ],
        );
        assert_eq!(
            found,
            [
                "deploy/prometheus/alerts.yaml:3",
                "deploy/prometheus/alerts.yaml:3",
                "docs/how-to/monitoring.md:2"
            ]
        );
    }
}
