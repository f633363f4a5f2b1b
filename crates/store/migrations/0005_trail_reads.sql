-- What the list, the charts and the archive read.
--
-- An index for each filter that singles out few events of many. Type, result and severity have few
-- values each, so an index of them all would help little and cost every write: what did not go well
-- and what is grave have one, and for the rest the counts below say in which hours a value occurs,
-- and the list looks only there.

-- Serve the list by one of these, in either order of time.
CREATE INDEX audit_events_by_agent ON audit_events (org_id, agent_id, id);
CREATE INDEX audit_events_by_action ON audit_events (org_id, action, id);
CREATE INDEX audit_events_by_session ON audit_events (org_id, session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX audit_events_by_trace ON audit_events (org_id, trace_id, id) WHERE trace_id IS NOT NULL;
CREATE INDEX audit_events_by_decision ON audit_events (org_id, decision_id, id) WHERE decision_id IS NOT NULL;
CREATE INDEX audit_events_by_result ON audit_events (org_id, result, id) WHERE result <> 'success';
CREATE INDEX audit_events_by_severity ON audit_events (org_id, severity, id) WHERE severity IN ('high', 'critical');

-- How many events there were in each minute, hour and day (of the events' own time) with each value
-- of a field. Kept by the indexer, in the transaction that writes the events.
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

-- Days that left the database for object storage. A day can have several files: what arrives for it
-- late is moved later.
CREATE TABLE archived_days (
    day         date        NOT NULL,
    file        text        NOT NULL,
    events      bigint      NOT NULL,
    bytes       bigint      NOT NULL,
    sha256      text        NOT NULL,
    archived_at timestamptz NOT NULL,
    PRIMARY KEY (day, file)
);

-- The events that are there already: what is not counted would not be found. An event's time is in the
-- first 48 bits of its id.
INSERT INTO event_counts (org_id, field, grain, bucket, value, events)
SELECT org_id, field, grain, date_trunc(grain, at, 'UTC'), value, count(*)
FROM (SELECT org_id, event_type, agent_id, action, result, severity,
             to_timestamp(('x' || lpad(left(replace(id::text, '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0) AS at
      FROM audit_events) AS event,
     LATERAL (VALUES ('event_type', event_type), ('agent_id', agent_id), ('action', action),
                     ('result', result), ('severity', severity)) AS counted (field, value),
     (VALUES ('minute'), ('hour'), ('day')) AS grains (grain)
WHERE value IS NOT NULL AND (grain <> 'minute' OR at > now() - interval '7 days')
GROUP BY 1, 2, 3, 4, 5;
