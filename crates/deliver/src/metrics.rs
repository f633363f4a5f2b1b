//! The metrics of this crate, named once.

runtime::metrics! {
    DELIVERY_ATTEMPTS, Counter "watchbell_delivery_attempts_total" ["outcome"]
        "Attempts made, by outcome";
    DELIVERY_ATTEMPT_SECONDS, Histogram "watchbell_delivery_attempt_duration_seconds" []
        "How long attempts took, from resolving the name to the end of the response";
    DELIVERY_LAG_SECONDS, Histogram "watchbell_delivery_lag_seconds" []
        "Time from the match, or from when the attempt was due, to its start";
    DELIVERIES_IN_FLIGHT, Gauge "watchbell_deliveries_in_flight" []
        "Sends in flight in this process";
    DELIVERY_MESSAGES_HELD, Gauge "watchbell_delivery_messages_held" []
        "Queue messages held by this process";
    DELIVERY_MESSAGES_PARKED, Gauge "watchbell_delivery_messages_parked" []
        "Queue messages parked in the lanes of endpoints that cannot take them now";
    DELIVERY_HOST_WAITS, Counter "watchbell_delivery_host_waits_total" []
        "How often the next delivery had to wait because its host had reached its limit of sends in flight";
    ENDPOINT_CHALLENGES, Counter "watchbell_endpoint_challenges_total" ["outcome"]
        "Challenges sent to endpoints: verified or refused";
}
