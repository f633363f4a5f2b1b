//! The metrics of this crate, named once.

runtime::metrics! {
    EVENTS_JUDGED, Counter "watchbell_events_judged_total" []
        "Events evaluated against the rules";
    DELIVERIES_MATCHED, Counter "watchbell_deliveries_matched_total" []
        "Deliveries created by the matcher";
    ALERTS_WITHHELD, Counter "watchbell_alerts_withheld_total" ["state"]
        "Alerts recorded but not sent: suppressed, snoozed or shadow";
    PACE_OVERFLOWS, Counter "watchbell_rule_groups_forgotten_total" []
        "How often a rule had more groups than it can remember and forgot one";
}
