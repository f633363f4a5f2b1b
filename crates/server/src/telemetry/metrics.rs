//! Every metric, named and explained once: for the code, for who scrapes them, and for the page of all metrics.
//! Labels are bounded: never an organisation, a URL or an id.

use std::fmt::Write as _;

use anyhow::Context as _;
use limits::metrics::Metric;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

limits::metrics! {
    HTTP_REQUESTS, Counter "watchbell_http_requests_total" ["route", "method", "status"]
        "Requests answered";
    HTTP_REQUEST_SECONDS, Histogram "watchbell_http_request_duration_seconds" ["route", "method"]
        "How long requests took";
    CONNECTIONS_REFUSED, Counter "watchbell_connections_refused_total" []
        "Connections closed at once, because their address has as many as it may have";
    EVENTS_INGESTED, Counter "watchbell_events_ingested_total" []
        "Events the journal has acknowledged";
    EVENTS_REJECTED, Counter "watchbell_events_rejected_total" []
        "Events refused for what is in them";
    DECISIONS, Counter "watchbell_decisions_total" ["decision"]
        "Decisions answered: allow, deny, modify or escalate";
    APPROVALS_PENDING, Gauge "watchbell_approvals_pending" []
        "Escalated decisions that nobody has resolved, of all organisations";
    APPROVALS, Counter "watchbell_approvals_total" ["outcome"]
        "Escalated decisions that ended: approved, denied or timed out";
    EVENTS_INDEXED, Counter "watchbell_events_indexed_total" []
        "Events written to the index";
    EVENTS_JUDGED, Counter "watchbell_events_judged_total" []
        "Events put before the rules";
    DELIVERIES_MATCHED, Counter "watchbell_deliveries_matched_total" []
        "Deliveries made by the matcher";
    ALERTS_WITHHELD, Counter "watchbell_alerts_withheld_total" ["state"]
        "Alerts put on record and not sent: suppressed, snoozed or shadow";
    PACE_OVERFLOWS, Counter "watchbell_rule_groups_forgotten_total" []
        "How often a rule had more groups than it remembers, and forgot one";
    DELIVERY_ATTEMPTS, Counter "watchbell_delivery_attempts_total" ["outcome"]
        "Attempts made, by outcome";
    DELIVERY_ATTEMPT_SECONDS, Histogram "watchbell_delivery_attempt_duration_seconds" []
        "How long attempts took, from resolving the name to the answer's end";
    DELIVERY_LAG_SECONDS, Histogram "watchbell_delivery_lag_seconds" []
        "From the match, or from when it was due, to the start of the attempt";
    DELIVERIES_IN_FLIGHT, Gauge "watchbell_deliveries_in_flight" []
        "Sends in flight in this process";
    DELIVERIES, Gauge "watchbell_deliveries" ["state"]
        "Deliveries under way, of all organisations: pending, scheduled or held; one process says so";
    DELIVERIES_UNBALANCED, Gauge "watchbell_deliveries_unbalanced" []
        "Rules whose deliveries of an hour do not add up; each is also an error in the log";
    DELIVERY_OLDEST_DUE_SECONDS, Gauge "watchbell_delivery_oldest_due_seconds" []
        "For how long the longest overdue delivery has been due, of those whose endpoint may be sent to";
    DELIVERY_MESSAGES_HELD, Gauge "watchbell_delivery_messages_held" []
        "Messages of the queue that this process has in hand";
    DELIVERY_MESSAGES_PARKED, Gauge "watchbell_delivery_messages_parked" []
        "Messages of the queue that stand in the lanes of endpoints that cannot take them now";
    DELIVERY_HOST_WAITS, Counter "watchbell_delivery_host_waits_total" []
        "How often what was next had to wait, because there were as many sends to its host as there may be";
    ENDPOINT_CHALLENGES, Counter "watchbell_endpoint_challenges_total" ["outcome"]
        "Challenges sent to endpoints: verified or refused";
    EXPORTS, Counter "watchbell_exports_total" ["outcome"]
        "Exports that were sent: whole or cut off";
    EVENTS_EXPORTED, Counter "watchbell_events_exported_total" []
        "Events in exports, sent or written to files";
    EVENTS_BACKTESTED, Counter "watchbell_events_backtested_total" []
        "Stored events that rules were tried on";
    LOGINS, Counter "watchbell_logins_total" ["outcome"]
        "Logins tried: succeeded or failed";
    MAILS, Counter "watchbell_mails_total" ["outcome"]
        "Mails: sent, failed for good, or dropped because too many wait";
    RECORDS_UNREADABLE, Counter "watchbell_records_unreadable_total" ["log"]
        "Records nobody could read; each is also an error in the log";
    JOURNAL_GAPS, Counter "watchbell_journal_gap_total" ["log"]
        "How often a log no longer had what was to be applied next; each is also an error in the log";
    JOURNAL_EVENTS_BYTES, Gauge "watchbell_journal_events_bytes" []
        "Bytes in the fullest log of events";
    JOURNAL_EVENTS_BYTES_MAX, Gauge "watchbell_journal_events_bytes_max" []
        "Bytes that each log of events may hold; missing if nothing bounds them";
    TAIL_CLIENTS, Gauge "watchbell_tail_clients" []
        "Clients that watch a live tail";
    TAIL_FOLLOWERS, Gauge "watchbell_tail_followers" []
        "Partitions followed for live tails";
    TAIL_SKIPPED, Counter "watchbell_tail_skipped_total" []
        "Events that live tails left out, because their clients read too slowly";
    DEAD_LETTERS_PUT, Counter "watchbell_dead_letters_total" ["log"]
        "Records that could not be applied and were put aside; each is also an error in the log";
    DEAD_LETTERS, Gauge "watchbell_dead_letters_waiting" []
        "Records put aside that wait for somebody to see to them";
    DEPENDENCY_UP, Gauge "watchbell_dependency_up" ["dependency"]
        "Whether a dependency answered when last asked: 1 or 0";
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
    ALL.iter().chain(limits::metrics::ALL)
}

/// `docs/reference/metrics.md`.
pub fn page() -> String {
    let mut page = "# Metrics

<!-- Generated by `cargo xtask generate`; edits are overwritten. -->

Every process serves these at `GET /metrics`, in the text format of Prometheus. A metric appears once there is something to
tell. No label names an organisation, a URL or an id, so their number is bounded.

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
