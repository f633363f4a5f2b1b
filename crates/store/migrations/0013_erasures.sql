-- Erasures: events that an organization had erased, so that only their leaves in the transparency log remain.

-- Which events were erased, and by which event the trail says so. Kept as long as their leaves: forever. What the journal
-- says of them again is not written again.
CREATE TABLE erased_events (
    org_id        uuid NOT NULL,
    event_id      uuid NOT NULL,
    erasure_id    uuid NOT NULL,
    -- The event of type `erasure` that names it.
    erasure_event uuid NOT NULL,
    -- Serves whoever writes, shows or exports events.
    PRIMARY KEY (org_id, event_id)
);

-- Serves an erasure's pass over the archive, day by day.
CREATE INDEX erased_events_by_erasure ON erased_events (org_id, erasure_id, event_id);
-- Serves the archive: whether something of a day was erased while its file was written.
CREATE INDEX erased_events_by_day ON erased_events (event_id);

-- The organizations that ever asked for an erasure: of all others nobody looks up erased events. Whoever writes an
-- organization's events shares the lock of its row, and whoever erases has it alone.
CREATE TABLE organizations_with_erasures (
    -- Serves the look-up in each transaction that writes events.
    org_id uuid PRIMARY KEY
);

CREATE TABLE erasures (
    org_id       uuid        NOT NULL,
    id           uuid        NOT NULL,
    -- The person.
    asked_by     text        NOT NULL,
    reason       text        NOT NULL,
    -- What is to be erased: these events, or those that a filter (JSON) asks for. One of the two is NULL.
    ids          uuid[],
    filter       text,
    -- Of a filter: what matched is between these. NULL: nothing did.
    newest       uuid,
    oldest       uuid,
    -- running, done or failed.
    state        text        NOT NULL,
    -- How many of the ids were seen to; of a filter, all that is not below this.
    ids_seen     integer     NOT NULL,
    below        uuid,
    -- Nothing is left to be found; what the archive has of it is next.
    is_found     boolean     NOT NULL,
    -- The events that are being erased right now, since when, and the number of this page: whoever goes on after a crash
    -- begins with these, and tells the trail of them by the same event.
    page         uuid[]      NOT NULL,
    page_at      timestamptz,
    page_number  integer     NOT NULL,
    erased       bigint      NOT NULL,
    -- Erased before.
    already      bigint      NOT NULL,
    -- Erasures themselves, which stay.
    kept         bigint      NOT NULL,
    -- Those of the ids that no event has.
    not_found    uuid[]      NOT NULL,
    error        text,
    tries        integer     NOT NULL,
    created_at   timestamptz NOT NULL,
    finished_at  timestamptz,
    -- Whose job it is, and until when; another may take it then.
    lease        uuid,
    leased_until timestamptz NOT NULL,
    -- Serves the list (newest first) and one erasure by id.
    PRIMARY KEY (org_id, id)
);

-- Serves whoever looks for a job.
CREATE INDEX erasures_running ON erasures (leased_until) WHERE state = 'running';
