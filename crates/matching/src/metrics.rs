//! The metrics of this crate, named once.

runtime::metrics! {
    EVENTS_JUDGED, Counter "watchbell_events_judged_total" []
        "Events put before the rules";
    DELIVERIES_MATCHED, Counter "watchbell_deliveries_matched_total" []
        "Deliveries made by the matcher";
    ALERTS_WITHHELD, Counter "watchbell_alerts_withheld_total" ["state"]
        "Alerts put on record and not sent: suppressed, snoozed or shadow";
    PACE_OVERFLOWS, Counter "watchbell_rule_groups_forgotten_total" []
        "How often a rule had more groups than it remembers, and forgot one";
}
