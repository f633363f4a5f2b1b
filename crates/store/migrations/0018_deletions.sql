-- Organisations that are to be deleted, and what is left of those that were.

-- When it is deleted; NULL: it is not to be.
ALTER TABLE organisations ADD COLUMN deletes_at timestamptz;

-- Serves looking for those that are due.
CREATE INDEX organisations_to_delete ON organisations (deletes_at) WHERE deletes_at IS NOT NULL;

-- All that is kept of an organisation, for ever: the journal still has events of it, and a database that is filled
-- from the journal again must not bring them back. No names. Looked up by whoever fills tables from the journal.
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
