-- The last message of a stream that was applied, and when the journal stored it: another message of this sequence means that the
-- stream was put back to an earlier state and has grown since. NULL if the version before applied it, which does not know of them.
-- Served by the key.
ALTER TABLE journal_watermark
    ADD COLUMN milestone_sequence  bigint,
    ADD COLUMN milestone_stored_ns bigint;

-- When something to be announced was written: tells it from another of the same number, should the database be put back to an
-- earlier state. NULL of what was there before.
ALTER TABLE config_outbox ADD COLUMN written_at timestamptz;
ALTER TABLE config_outbox ALTER COLUMN written_at SET DEFAULT clock_timestamp();
