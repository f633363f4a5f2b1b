-- How often each rule matched, by hour.
CREATE TABLE rule_counts (
    org_id     uuid        NOT NULL,
    rule_id    uuid        NOT NULL,
    bucket     timestamptz NOT NULL,
    matched    bigint      NOT NULL,
    alerts     bigint      NOT NULL,
    suppressed bigint      NOT NULL,
    withheld   bigint      NOT NULL,
    last_at    timestamptz,
    -- Serves the last day of one rule, and of a page of rules.
    PRIMARY KEY (org_id, rule_id, bucket)
);
