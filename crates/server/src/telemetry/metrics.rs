//! Every metric, named once. Labels are bounded: never an organisation, a URL or an id.

use anyhow::Context as _;
use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Requests answered, by `route`, `method` and `status`.
pub const HTTP_REQUESTS: &str = "watchbell_http_requests_total";
/// How long requests took, by `route` and `method`.
pub const HTTP_REQUEST_SECONDS: &str = "watchbell_http_request_duration_seconds";
/// Events the journal has acknowledged.
pub const EVENTS_INGESTED: &str = "watchbell_events_ingested_total";
/// Events refused for what is in them.
pub const EVENTS_REJECTED: &str = "watchbell_events_rejected_total";
/// Decisions answered, by `decision`.
pub const DECISIONS: &str = "watchbell_decisions_total";
/// Escalated decisions that nobody has resolved, of all organisations.
pub const APPROVALS_PENDING: &str = "watchbell_approvals_pending";
/// Escalated decisions that have ended, by `outcome`: approved, denied or timed out.
pub const APPROVALS: &str = "watchbell_approvals_total";
/// Events written to the index.
pub const EVENTS_INDEXED: &str = "watchbell_events_indexed_total";
/// Events put before the rules.
pub const EVENTS_JUDGED: &str = "watchbell_events_judged_total";
/// Deliveries made by the matcher.
pub const DELIVERIES_MATCHED: &str = "watchbell_deliveries_matched_total";
/// Alerts that were put on record and not sent, by `state`: suppressed, snoozed or shadow.
pub const ALERTS_WITHHELD: &str = "watchbell_alerts_withheld_total";
/// How often a rule had more groups than it remembers, and forgot one.
pub const PACE_OVERFLOWS: &str = "watchbell_rule_groups_forgotten_total";
/// Attempts made, by `outcome`.
pub const DELIVERY_ATTEMPTS: &str = "watchbell_delivery_attempts_total";
/// How long attempts took, from resolving the name to the answer's end.
pub const DELIVERY_ATTEMPT_SECONDS: &str = "watchbell_delivery_attempt_duration_seconds";
/// From the match (or due time) to the start of the attempt.
pub const DELIVERY_LAG_SECONDS: &str = "watchbell_delivery_lag_seconds";
/// Sends in flight in this process.
pub const DELIVERIES_IN_FLIGHT: &str = "watchbell_deliveries_in_flight";
/// Deliveries under way, by `state`: pending, scheduled or held. Of all organisations; one process says so.
pub const DELIVERIES: &str = "watchbell_deliveries";
/// Rules whose deliveries of an hour do not add up; each is also an error in the log.
pub const DELIVERIES_UNBALANCED: &str = "watchbell_deliveries_unbalanced";
/// For how long the delivery has been due that has been due for longest, of those whose endpoint may be sent to.
pub const DELIVERY_OLDEST_DUE_SECONDS: &str = "watchbell_delivery_oldest_due_seconds";
/// Messages of the queue that this process has in hand, and those that stand in lanes, of all endpoints.
pub const DELIVERY_MESSAGES_HELD: &str = "watchbell_delivery_messages_held";
pub const DELIVERY_MESSAGES_PARKED: &str = "watchbell_delivery_messages_parked";
/// Exports that were sent, by `outcome`: whole or cut off.
pub const EXPORTS: &str = "watchbell_exports_total";
/// Events in exports, sent or written to files.
pub const EVENTS_EXPORTED: &str = "watchbell_events_exported_total";
/// Stored events that rules were tried on.
pub const EVENTS_BACKTESTED: &str = "watchbell_events_backtested_total";
/// Logins tried, by `outcome`.
pub const LOGINS: &str = "watchbell_logins_total";
/// Mails, by `outcome`: sent, failed for good, or dropped because too many wait.
pub const MAILS: &str = "watchbell_mails_total";
/// Records nobody could read, by `log`; each is also an error in the log.
pub const RECORDS_UNREADABLE: &str = "watchbell_records_unreadable_total";
/// How often a log no longer had what was to be applied next, by `log`; each is also an error in the log.
pub const JOURNAL_GAPS: &str = "watchbell_journal_gap_total";
/// Clients that watch a live tail, and partitions that are followed for them.
pub const TAIL_CLIENTS: &str = "watchbell_tail_clients";
pub const TAIL_FOLLOWERS: &str = "watchbell_tail_followers";
/// Events that a live tail left out, because its client read too slowly.
pub const TAIL_SKIPPED: &str = "watchbell_tail_skipped_total";
/// Records that could not be applied and were put aside, by `log`; each is also an error in the log.
pub const DEAD_LETTERS_PUT: &str = "watchbell_dead_letters_total";
/// How many such records wait for somebody to see to them.
pub const DEAD_LETTERS: &str = "watchbell_dead_letters_waiting";
/// Whether a dependency answered when last asked, by `dependency`.
pub const DEPENDENCY_UP: &str = "watchbell_dependency_up";
/// The running version, as a label.
pub const BUILD_INFO: &str = "watchbell_build_info";

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
    describe();
    limits::metrics::describe();
    metrics::gauge!(BUILD_INFO, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    Ok(handle)
}

fn describe() {
    describe_counter!(HTTP_REQUESTS, "Requests answered");
    describe_histogram!(
        HTTP_REQUEST_SECONDS,
        Unit::Seconds,
        "How long requests took"
    );
    describe_counter!(EVENTS_INGESTED, "Events the journal has acknowledged");
    describe_counter!(EVENTS_REJECTED, "Events refused for what is in them");
    describe_counter!(DECISIONS, "Decisions answered, by what was decided");
    describe_gauge!(
        APPROVALS_PENDING,
        "Escalated decisions that nobody has resolved"
    );
    describe_counter!(APPROVALS, "Escalated decisions that ended, by how");
    describe_counter!(EXPORTS, "Exports that were sent, by how they ended");
    describe_counter!(
        EVENTS_EXPORTED,
        "Events in exports, sent or written to files"
    );
    describe_counter!(EVENTS_BACKTESTED, "Stored events that rules were tried on");
    describe_counter!(EVENTS_INDEXED, "Events written to the index");
    describe_counter!(EVENTS_JUDGED, "Events put before the rules");
    describe_counter!(ALERTS_WITHHELD, "Alerts put on record and not sent");
    describe_counter!(PACE_OVERFLOWS, "Groups that a rule forgot early");
    describe_counter!(DELIVERIES_MATCHED, "Deliveries made by the matcher");
    describe_counter!(DELIVERY_ATTEMPTS, "Attempts made, by outcome");
    describe_histogram!(
        DELIVERY_ATTEMPT_SECONDS,
        Unit::Seconds,
        "How long attempts took"
    );
    describe_histogram!(
        DELIVERY_LAG_SECONDS,
        Unit::Seconds,
        "From due to the start of the attempt"
    );
    describe_gauge!(DELIVERIES_IN_FLIGHT, "Sends in flight in this process");
    describe_gauge!(DELIVERIES, "Deliveries under way, by state");
    describe_gauge!(
        DELIVERIES_UNBALANCED,
        "Rules whose deliveries of an hour do not add up"
    );
    describe_gauge!(
        DELIVERY_OLDEST_DUE_SECONDS,
        Unit::Seconds,
        "For how long the longest overdue delivery has been due"
    );
    describe_gauge!(
        DELIVERY_MESSAGES_HELD,
        "Messages of the queue that this process has in hand"
    );
    describe_gauge!(
        DELIVERY_MESSAGES_PARKED,
        "Messages of the queue that stand in the lanes of endpoints that cannot take them now"
    );
    describe_counter!(LOGINS, "Logins tried, by outcome");
    describe_counter!(MAILS, "Mails, by outcome");
    describe_counter!(RECORDS_UNREADABLE, "Records nobody could read");
    describe_counter!(
        JOURNAL_GAPS,
        "Times that a log no longer had what was to be applied next"
    );
    describe_gauge!(TAIL_CLIENTS, "Clients that watch a live tail");
    describe_gauge!(TAIL_FOLLOWERS, "Partitions followed for live tails");
    describe_counter!(TAIL_SKIPPED, "Events that live tails left out");
    describe_counter!(
        DEAD_LETTERS_PUT,
        "Records that could not be applied and were put aside"
    );
    describe_gauge!(
        DEAD_LETTERS,
        "Records put aside that wait for somebody to see to them"
    );
    describe_gauge!(
        DEPENDENCY_UP,
        "Whether a dependency answered when last asked"
    );
    describe_gauge!(BUILD_INFO, "The running version, as a label");
}
