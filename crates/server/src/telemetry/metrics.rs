//! Every metric, named and explained once: for the code, for who scrapes them, and for the page of all metrics.
//! Labels are bounded: never an organization, a URL or an id.

use std::fmt::Write as _;

use anyhow::Context as _;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use runtime::metrics::Metric;

runtime::metrics! {
    HTTP_REQUESTS, Counter "watchbell_http_requests_total" ["route", "method", "status"]
        "Requests answered";
    HTTP_REQUEST_SECONDS, Histogram "watchbell_http_request_duration_seconds" ["route", "method"]
        "How long requests took";
    CONNECTIONS_REFUSED, Counter "watchbell_connections_refused_total" []
        "Connections closed immediately because their address had reached its limit";
    EVENTS_REJECTED, Counter "watchbell_events_rejected_total" []
        "Events refused because of their content";
    DECISIONS, Counter "watchbell_decisions_total" ["decision"]
        "Decisions answered: allow, deny, modify or escalate";
    APPROVALS_PENDING, Gauge "watchbell_approvals_pending" []
        "Escalated decisions that nobody has resolved yet, across all organizations";
    APPROVALS, Counter "watchbell_approvals_total" ["outcome"]
        "Escalated decisions that ended: approved, denied or timed out";
    EVENTS_INDEXED, Counter "watchbell_events_indexed_total" []
        "Events written to the index";
    DELIVERIES, Gauge "watchbell_deliveries" ["state"]
        "Deliveries under way, across all organizations: pending, scheduled or held; reported by one process";
    DELIVERIES_UNBALANCED, Gauge "watchbell_deliveries_unbalanced" []
        "Rules whose deliveries for an hour do not add up; each is also logged as an error";
    DELIVERY_OLDEST_DUE_SECONDS, Gauge "watchbell_delivery_oldest_due_seconds" []
        "How long the most overdue delivery has been due, among those whose endpoint may be sent to";
    EXPORTS, Counter "watchbell_exports_total" ["outcome"]
        "Exports sent: complete or cut off";
    EVENTS_EXPORTED, Counter "watchbell_events_exported_total" []
        "Events in exports, sent or written to files";
    EVENTS_BACKTESTED, Counter "watchbell_events_backtested_total" []
        "Stored events that rules were tried on";
    LOGINS, Counter "watchbell_logins_total" ["outcome"]
        "Login attempts: succeeded or failed";
    MAILS, Counter "watchbell_mails_total" ["outcome"]
        "Mails: sent, failed permanently, or dropped because too many were waiting";
    JOURNAL_GAPS, Counter "watchbell_journal_gap_total" ["log"]
        "How often a log no longer had the record to be applied next; each is also logged as an error";
    ANNOUNCED_AGAIN, Counter "watchbell_announced_again_total" ["bucket"]
        "Keys, rules, policies, signing secrets and endpoints that the journal had lost and that were announced again from the database";
    JOURNAL_EVENTS_BYTES, Gauge "watchbell_journal_events_bytes" []
        "Bytes in the fullest event log";
    JOURNAL_EVENTS_BYTES_MAX, Gauge "watchbell_journal_events_bytes_max" []
        "Maximum number of bytes in each event log; absent if there is no limit";
    TRANSPARENCY_LEAVES, Counter "watchbell_transparency_leaves_total" []
        "Leaves appended to transparency logs";
    TRANSPARENCY_CHECKPOINT_LAG, Histogram "watchbell_transparency_checkpoint_lag_seconds" []
        "How long after the oldest record in it was received a checkpoint was signed";
    TRANSPARENCY_LOGS_STOPPED, Gauge "watchbell_transparency_logs_stopped" []
        "Transparency logs that have stopped because their files contradict what was signed; the same on every process with the role index";
    TRANSPARENCY_COSIGNATURES, Counter "watchbell_transparency_cosignatures_total" ["witness", "outcome"]
        "Checkpoints sent to witnesses: cosigned, or why not: away, unknown_log, refused, not_believed, rolled_back or inconsistent; the last two are also logged as errors";
    TRANSPARENCY_WITNESS_LAG, Gauge "watchbell_transparency_witness_lag_seconds" ["witness"]
        "For how long a witness has not cosigned what was signed, of the log that waits longest; 0 if none does; reported by one process";
    TAIL_CLIENTS, Gauge "watchbell_tail_clients" []
        "Clients watching a live tail";
    TAIL_FOLLOWERS, Gauge "watchbell_tail_followers" []
        "Partitions followed for live tails";
    TAIL_SKIPPED, Counter "watchbell_tail_skipped_total" []
        "Events that live tails skipped because their clients read too slowly";
    DEAD_LETTERS_PUT, Counter "watchbell_dead_letters_total" ["log"]
        "Records that could not be applied and were put aside; each is also logged as an error";
    DEAD_LETTERS, Gauge "watchbell_dead_letters_waiting" []
        "Records put aside and waiting for someone to deal with them";
    DEPENDENCY_UP, Gauge "watchbell_dependency_up" ["dependency"]
        "Whether a dependency responded when last checked: 1 or 0";
    CLOCK_SKEW_SECONDS, Gauge "watchbell_clock_skew_seconds" []
        "How far this machine's clock is ahead of NATS's, negative if it is behind";
    BUILD_INFO, Gauge "watchbell_build_info" ["version"]
        "The running version, as a label";
}

/// Bounds of the duration histograms, in seconds.
const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// Starts counting; the handle renders what was counted.
pub fn start() -> anyhow::Result<PrometheusHandle> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)
        .context("set histogram bounds")?
        .install_recorder()
        .context("start metrics")?;
    all().for_each(Metric::describe);
    metrics::gauge!(BUILD_INFO, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    Ok(handle)
}

fn all() -> impl Iterator<Item = &'static Metric> {
    let crates = [
        ALL,
        deliver::metrics::ALL,
        journal::metrics::ALL,
        limits::metrics::ALL,
        matching::metrics::ALL,
    ];
    crates.into_iter().flatten()
}

/// `docs/reference/metrics.md`.
pub fn page() -> String {
    let mut page = "# Metrics

<!-- Generated by `cargo xtask generate`; edits are overwritten. -->

Every process serves these at `GET /metrics`, in the Prometheus text format. A metric appears once there is something to
report. No label names an organization, a URL or an id, so their number is bounded.

| metric | kind | labels | meaning |
|---|---|---|---|
"
    .to_owned();
    for metric in all() {
        let labels: Vec<String> = metric
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        let (kind, labels) = (metric.kind.as_str(), labels.join(", "));
        writeln!(
            page,
            "| `{}` | {kind} | {labels} | {} |",
            metric.name, metric.meaning
        )
        .expect("a text takes what is written to it");
    }
    page
}
