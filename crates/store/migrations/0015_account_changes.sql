-- What the trail must still be told of accounts: keys, members, invitations and logins. A row goes when it was
-- told.
CREATE TABLE account_changes (
    org_id  uuid        NOT NULL,
    -- What it is told by follows from it.
    id      uuid        NOT NULL DEFAULT gen_random_uuid(),
    -- What was done (domain::account::change::What).
    what    text        NOT NULL,
    made_by text        NOT NULL,
    -- A JSON object: the metadata of the event.
    details text        NOT NULL,
    made_at timestamptz NOT NULL,
    -- Serves telling what an organisation just did, and forgetting what was told.
    PRIMARY KEY (org_id, id)
);

-- Serves telling the trail what it was not told yet.
CREATE INDEX account_changes_to_tell ON account_changes (made_at);
