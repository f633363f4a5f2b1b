-- The transparency log of each organization: what waits to be appended to it, how far it is, and where in it to look.
-- Its leaves, tiles and steps are files; what is here can be made again from them.

-- Hides what a leaf commits to; erased with it. NULL: recorded before there was a log, and no leaf of it.
ALTER TABLE audit_events ADD COLUMN salt bytea;
ALTER TABLE delivery_attempts ADD COLUMN salt bytea;

-- Serves exports that prove themselves, which look attempts up as the log names them: by their ids, which have their times in
-- front. Rows are written nearly in that order, so the ends of each range of pages tell where they are, for nearly nothing.
CREATE INDEX delivery_attempts_by_id ON delivery_attempts USING brin (id) WITH (pages_per_range = 16, autosummarize = on);

-- Leaves of rows that were written, in the transaction that wrote them: one row for each organization in it.
CREATE TABLE transparency_outbox (
    org_id       uuid        NOT NULL,
    id           bigint      GENERATED ALWAYS AS IDENTITY,
    -- The journal's, so that each sequencer looks only for its own.
    partition    smallint    NOT NULL,
    -- One after the other, 66 bytes each, and how many.
    leaves       bytea       NOT NULL,
    count        integer     NOT NULL,
    -- The index of the first in the log. NULL: it has none yet.
    first_index  bigint,
    appended_at  timestamptz,
    PRIMARY KEY (org_id, id)
);
-- Hashes do not compress.
ALTER TABLE transparency_outbox ALTER COLUMN leaves SET STORAGE EXTERNAL;

-- Serves the sequencer: what waits, in order.
CREATE INDEX transparency_outbox_waiting ON transparency_outbox (partition, org_id, id) WHERE first_index IS NULL;
-- Serves the leaves that are not in a full bundle yet, and forgetting those that are.
CREATE INDEX transparency_outbox_appended ON transparency_outbox (org_id, first_index) WHERE first_index IS NOT NULL;

CREATE TABLE transparency_logs (
    org_id        uuid        PRIMARY KEY,
    -- The log's name, which never changes.
    origin        text        NOT NULL,
    -- How many leaves the last signed checkpoint has, and the roots of its complete subtrees, the largest first.
    size          bigint      NOT NULL,
    edge          bytea       NOT NULL,
    -- The last signed checkpoint, with the cosignatures of witnesses.
    checkpoint    text,
    signed_at     timestamptz,
    -- Leaves up to this time may be in the log although the outbox has them: PostgreSQL was put back to an earlier state.
    adopted_until timestamptz,
    -- Why nothing is signed any more. Only a person can say how to go on.
    stopped       text
);

-- From when to when the leaves of a full bundle are: where to look for one.
CREATE TABLE transparency_bundles (
    org_id   uuid        NOT NULL,
    number   bigint      NOT NULL,
    first_at timestamptz NOT NULL,
    last_at  timestamptz NOT NULL,
    PRIMARY KEY (org_id, number)
);

-- Serves looking for a leaf by its time.
CREATE INDEX transparency_bundles_by_time ON transparency_bundles (org_id, last_at);

-- What checkpoints are signed with, sealed as signing secrets are.
CREATE TABLE transparency_keys (
    org_id     uuid        NOT NULL,
    -- From 1, so that of two that are made at once one is kept.
    number     integer     NOT NULL,
    id         uuid        NOT NULL,
    -- The public part, as a verifier takes it.
    verifier   text        NOT NULL,
    sealed     text        NOT NULL,
    created_at timestamptz NOT NULL,
    -- Since when it signs no more.
    retired_at timestamptz,
    PRIMARY KEY (org_id, number)
);
