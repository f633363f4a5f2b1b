-- Organizations, what is left of those that were deleted, and what the data plane must be told.

CREATE TABLE organisations (
    id         uuid        PRIMARY KEY,
    name       text        NOT NULL,
    created_at timestamptz NOT NULL,
    -- When it is deleted; NULL: it is not to be.
    deletes_at timestamptz
);

-- Serves looking for those that are due.
CREATE INDEX organisations_to_delete ON organisations (deletes_at) WHERE deletes_at IS NOT NULL;

-- All that is kept of a deleted organization, for ever: the journal still has events of it, and a database that is
-- filled from the journal again must not bring them back. No names. Looked up by whoever fills tables from the journal.
CREATE TABLE tombstones (
    org_id   uuid        PRIMARY KEY,
    began_at timestamptz NOT NULL,
    -- When its row in organisations went, after everybody was shut out; NULL: it is still there.
    gone_at  timestamptz,
    -- When it was looked at for the last time, a while after that; NULL: it will be looked at again.
    done_at  timestamptz
);

-- Serves going on with what is not done.
CREATE INDEX tombstones_to_do ON tombstones (began_at) WHERE done_at IS NULL;

-- What the data plane must be told, written in the same transaction as the change itself and announced in the journal
-- afterwards, in this order.
CREATE TABLE config_outbox (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bucket text   NOT NULL,
    key    text   NOT NULL,
    value  text
);
