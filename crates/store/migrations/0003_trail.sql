-- The queryable copy of the journal: how far it is, and the events, with what their list, their charts and the archive
-- read. Deliveries are in a file of their own.
--
-- Events, deliveries and attempts are each cut into days by the time inside their uuid-v7 key, so that the primary key
-- carries the partition key and a day can be dropped whole. Days are made and dropped by the server (partitions.rs).

-- How far each journal stream has been applied; moves in the same transaction as what it derived.
CREATE TABLE journal_watermark (
    stream           text        PRIMARY KEY,
    -- Tells a stream from one of the same name that was made after the first was lost.
    stream_created   text        NOT NULL,
    applied_sequence bigint      NOT NULL,
    -- What the log of outcomes says a second time is not counted a second time. Matches that count toward a threshold
    -- have no row of their own. Of a log that is applied from its beginning again those up to `counted_before` were
    -- counted; `counted_at` is the latest that was. Served by the key.
    counted_at       timestamptz,
    counted_before   timestamptz
);

-- Dead letters that were applied, by their places in the logs: whoever applied one may have died before it was removed.
-- Served by the key: one is applied once.
CREATE TABLE redriven_letters (
    place       text        PRIMARY KEY,
    redriven_at timestamptz NOT NULL DEFAULT now()
);

-- Serves forgetting what is older than it is kept.
CREATE INDEX redriven_letters_by_time ON redriven_letters (redriven_at);

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
    -- Who wrote it: `server`, or the id of an API key.
    source      text,
    -- Serves the list (newest first) and one event by id.
    PRIMARY KEY (org_id, id)
) PARTITION BY RANGE (id);

-- An index for each filter that singles out few events of many; each serves the list in either order of time. Type,
-- result and severity have few values each, so an index of them all would help little and cost every write: what did not
-- go well and what is grave have one, and for the rest the counts below say in which hours a value occurs, and the list
-- looks only there.
CREATE INDEX audit_events_by_agent ON audit_events (org_id, agent_id, id);
CREATE INDEX audit_events_by_action ON audit_events (org_id, action, id);
CREATE INDEX audit_events_by_session ON audit_events (org_id, session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX audit_events_by_trace ON audit_events (org_id, trace_id, id) WHERE trace_id IS NOT NULL;
CREATE INDEX audit_events_by_decision ON audit_events (org_id, decision_id, id) WHERE decision_id IS NOT NULL;
CREATE INDEX audit_events_by_result ON audit_events (org_id, result, id) WHERE result <> 'success';
CREATE INDEX audit_events_by_severity ON audit_events (org_id, severity, id) WHERE severity IN ('high', 'critical');

-- How many events there were in each minute, hour and day (of the events' own time) with each value of a field. Kept by
-- the indexer, in the transaction that writes the events.
CREATE TABLE event_counts (
    org_id uuid        NOT NULL,
    -- event_type, agent_id, action, result or severity.
    field  text        NOT NULL,
    -- minute, hour or day.
    grain  text        NOT NULL,
    bucket timestamptz NOT NULL,
    value  text        NOT NULL,
    events bigint      NOT NULL,
    -- Serves the charts (a range of buckets) and the list (the newest hour that has a value).
    PRIMARY KEY (org_id, field, grain, bucket, value)
) WITH (fillfactor = 70); -- room for updates in place

-- Serves forgetting what is older than it is kept.
CREATE INDEX event_counts_by_bucket ON event_counts (grain, bucket);

-- Days that left the database for object storage. A day can have several files: what arrives for it late is moved later.
CREATE TABLE archived_days (
    day         date        NOT NULL,
    file        text        NOT NULL,
    events      bigint      NOT NULL,
    bytes       bigint      NOT NULL,
    sha256      text        NOT NULL,
    archived_at timestamptz NOT NULL,
    PRIMARY KEY (day, file)
);
