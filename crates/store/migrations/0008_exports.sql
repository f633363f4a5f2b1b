-- Exports that are made in the background: what was asked for, how far it is, and the files so far.

CREATE TABLE exports (
    org_id       uuid             NOT NULL,
    id           uuid             NOT NULL,
    -- The key or the person, as the audit event names it.
    asked_by     text             NOT NULL,
    filter       text             NOT NULL,
    format       text             NOT NULL,
    compression  text             NOT NULL,
    -- queued, running, done, failed, canceled or expired.
    state        text             NOT NULL,
    -- The ids of what is in it, both included; NULL: nothing is.
    newest       uuid,
    oldest       uuid,
    -- The event that says that it was asked for.
    without      uuid             NOT NULL,
    -- What is in no complete file yet is below this; NULL: none is complete.
    below        uuid,
    -- How far the file in the making is, from 0 to 1 of the whole, and the events of all.
    progress     double precision NOT NULL,
    events       bigint           NOT NULL,
    tries        integer          NOT NULL,
    error        text,
    created_at   timestamptz      NOT NULL,
    finished_at  timestamptz,
    expires_at   timestamptz,
    -- Who works on it, until when. A job that nobody has can be taken from then on.
    lease        uuid,
    leased_until timestamptz      NOT NULL,
    -- Signs the links to its files.
    secret       bytea            NOT NULL,
    -- Whether its files have been deleted.
    swept        boolean          NOT NULL,
    -- Serves the list (newest first) and one export by id.
    PRIMARY KEY (org_id, id)
);

-- Serves taking the job that waits longest.
CREATE INDEX exports_to_do ON exports (leased_until) WHERE state IN ('queued', 'running');
-- Serves deleting files that nobody may have any more.
CREATE INDEX exports_to_sweep ON exports (expires_at) WHERE NOT swept;
-- Serves a link, which does not name the organization.
CREATE UNIQUE INDEX exports_by_id ON exports (id);

CREATE TABLE export_files (
    org_id    uuid    NOT NULL,
    export_id uuid    NOT NULL,
    number    integer NOT NULL,
    -- What it is called in the list, and in object storage.
    name      text    NOT NULL,
    object    text    NOT NULL,
    events    bigint  NOT NULL,
    bytes     bigint  NOT NULL,
    sha256    text    NOT NULL,
    -- Serves the files of one export, in order.
    PRIMARY KEY (org_id, export_id, number),
    FOREIGN KEY (org_id, export_id) REFERENCES exports (org_id, id) ON DELETE CASCADE
);
