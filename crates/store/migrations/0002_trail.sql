-- The queryable copy of the journal: events, deliveries, attempts.
--
-- Each table is cut into days by the time inside its uuid-v7 key, so that the primary key carries
-- the partition key and a day can be dropped whole. Days are made by the server (partitions.rs);
-- nothing drops them yet.

-- How far each journal stream has been applied; moves in the same transaction as what it derived.
CREATE TABLE journal_watermark (
    stream           text   PRIMARY KEY,
    -- Tells a stream from one of the same name that was made after the first was lost.
    stream_created   text   NOT NULL,
    applied_sequence bigint NOT NULL
);

CREATE TABLE audit_events (
    org_id      uuid        NOT NULL,
    id          uuid        NOT NULL,
    received_at timestamptz NOT NULL,
    event_type  text        NOT NULL,
    agent_id    text        NOT NULL,
    action      text        NOT NULL,
    result      text        NOT NULL,
    severity    text,
    session_id  text,
    trace_id    text,
    decision_id text,
    -- The event as sent, verbatim, behind the server's fields.
    body        text        NOT NULL,
    -- Serves the list (newest first) and one event by id.
    PRIMARY KEY (org_id, id)
) PARTITION BY RANGE (id);

CREATE TABLE deliveries (
    org_id     uuid        NOT NULL,
    id         uuid        NOT NULL,
    event_id   uuid        NOT NULL,
    rule_id    uuid        NOT NULL,
    rule_name  text        NOT NULL,
    event_type text        NOT NULL,
    url        text        NOT NULL,
    state      text        NOT NULL,
    attempts   integer     NOT NULL,
    matched_at timestamptz NOT NULL,
    next_at    timestamptz,
    -- Serves the list (newest first) and one delivery by id.
    PRIMARY KEY (org_id, id)
) PARTITION BY RANGE (id);

CREATE TABLE delivery_attempts (
    org_id         uuid        NOT NULL,
    delivery_id    uuid        NOT NULL,
    id             uuid        NOT NULL,
    number         integer     NOT NULL,
    trigger        text        NOT NULL,
    due_at         timestamptz NOT NULL,
    started_at     timestamptz NOT NULL,
    finished_at    timestamptz NOT NULL,
    signed_at      timestamptz NOT NULL,
    url            text        NOT NULL,
    remote_address text,
    body_sha256    text        NOT NULL,
    body_bytes     integer     NOT NULL,
    status         integer,
    outcome        text        NOT NULL,
    error          text,
    answer         text        NOT NULL,
    -- Serves the timeline of one delivery, oldest attempt first.
    PRIMARY KEY (org_id, delivery_id, id)
) PARTITION BY RANGE (delivery_id);
