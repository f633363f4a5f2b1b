-- Alert rules: what their owners wrote, every version of it and who made which, and how often each matched.

CREATE TABLE alert_rules (
    org_id       uuid        NOT NULL REFERENCES organisations,
    id           uuid        NOT NULL,
    -- Stays beside the definition, which has it too: it serves the list's filter.
    enabled      boolean     NOT NULL,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    version      integer     NOT NULL,
    -- What the owner wrote, as JSON, with every default filled in.
    definition   text        NOT NULL,
    -- Serves the list's filter by tag.
    tags         text[]      NOT NULL,
    -- The version since which it has counted as it does now.
    counts_since integer     NOT NULL,
    -- Whether an event meets it only by one of its values. Those that are not are few.
    is_indexed   boolean     NOT NULL,
    -- The key or the person, as the audit event names it.
    created_by   text        NOT NULL,
    updated_by   text        NOT NULL,
    -- Serves the list of an organization's rules, newest first.
    PRIMARY KEY (org_id, id)
);

CREATE TABLE alert_rule_versions (
    org_id      uuid        NOT NULL REFERENCES organisations,
    rule_id     uuid        NOT NULL,
    version     integer     NOT NULL,
    -- created, updated, enabled, disabled or deleted.
    what        text        NOT NULL,
    -- The fields in which it differs from the version before.
    changed     text[]      NOT NULL,
    definition  text        NOT NULL,
    -- The key or the person.
    made_by     text        NOT NULL,
    made_at     timestamptz NOT NULL,
    -- Whether the trail has the audit event of it.
    is_recorded boolean     NOT NULL,
    -- Serves the list of a rule's versions, newest first, and one of them.
    PRIMARY KEY (org_id, rule_id, version)
);

-- Serves telling the trail what it was not told yet.
CREATE INDEX alert_rule_versions_to_record ON alert_rule_versions (made_at) WHERE NOT is_recorded;
-- Serves forgetting rules that were deleted long ago.
CREATE INDEX alert_rule_versions_deleted ON alert_rule_versions (made_at) WHERE what = 'deleted';

-- How often each rule matched, by hour of the events' arrival. Kept by the recorder, in the transaction that writes the
-- deliveries.
CREATE TABLE rule_counts (
    org_id     uuid        NOT NULL,
    rule_id    uuid        NOT NULL,
    bucket     timestamptz NOT NULL,
    -- All matches; of these the ones that were to be sent, that were kept back because there was an alert just now, and
    -- that were not sent because the rule is snoozed or only watched.
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
