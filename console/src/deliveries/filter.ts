// What of the address filters the list of deliveries.

export const FILTERS = ["rule_id", "url", "event_type", "cause", "reason", "event_id", "filter"] as const;
/** What a view keeps of it beside the time. */
export const KEPT = ["state", ...FILTERS] as const;
