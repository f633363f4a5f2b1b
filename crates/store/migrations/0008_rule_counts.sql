-- How often each rule matched, by hour of the events' arrival. Kept by the recorder, in the transaction
-- that writes the deliveries.
CREATE TABLE rule_counts (
    org_id     uuid        NOT NULL,
    rule_id    uuid        NOT NULL,
    bucket     timestamptz NOT NULL,
    -- All matches; of these the ones that were to be sent, that were kept back because there was an alert
    -- just now, and that were not sent because the rule is snoozed or only watched.
    matched    bigint      NOT NULL,
    alerts     bigint      NOT NULL,
    suppressed bigint      NOT NULL,
    withheld   bigint      NOT NULL,
    -- How often the rule had more groups than it remembers.
    overflows  bigint      NOT NULL,
    last_at    timestamptz NOT NULL,
    -- Serves the last day of one rule, and of a page of rules.
    PRIMARY KEY (org_id, rule_id, bucket)
);

-- Serves forgetting what is older than it is kept.
CREATE INDEX rule_counts_by_bucket ON rule_counts (bucket);
