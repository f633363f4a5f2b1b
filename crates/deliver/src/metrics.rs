//! The metrics of this crate, named once.

runtime::metrics! {
    DELIVERY_ATTEMPTS, Counter "watchbell_delivery_attempts_total" ["outcome"]
        "Attempts made, by outcome";
    DELIVERY_ATTEMPT_SECONDS, Histogram "watchbell_delivery_attempt_duration_seconds" []
        "How long attempts took, from resolving the name to the answer's end";
    DELIVERY_LAG_SECONDS, Histogram "watchbell_delivery_lag_seconds" []
        "From the match, or from when it was due, to the start of the attempt";
    DELIVERIES_IN_FLIGHT, Gauge "watchbell_deliveries_in_flight" []
        "Sends in flight in this process";
    DELIVERY_MESSAGES_HELD, Gauge "watchbell_delivery_messages_held" []
        "Messages of the queue that this process has in hand";
    DELIVERY_MESSAGES_PARKED, Gauge "watchbell_delivery_messages_parked" []
        "Messages of the queue that stand in the lanes of endpoints that cannot take them now";
    DELIVERY_HOST_WAITS, Counter "watchbell_delivery_host_waits_total" []
        "How often what was next had to wait, because there were as many sends to its host as there may be";
    ENDPOINT_CHALLENGES, Counter "watchbell_endpoint_challenges_total" ["outcome"]
        "Challenges sent to endpoints: verified or refused";
}
