-- no-transaction
-- How many attempts at an endpoint failed lately, so that its health is said from them.
--
-- The index serves the failed attempts at one endpoint in the last day, newest first. An attempt is kept in the day of its
-- event, so every day is looked into. An index of all attempts would take half as much space again as they do, and every
-- delivery would pay for it (about 10 us); only failures do.
--
-- It is made day by day, each in a transaction of its own: deliveries of one day wait at a time, and for that day only.
-- PostgreSQL makes no index of a partitioned table concurrently, and of a day only by a statement that names it. Whoever is
-- interrupted goes on with the days that have none yet. One statement, because several would be one transaction.
DO $$
DECLARE
    day oid;
    name text;
BEGIN
    CREATE INDEX IF NOT EXISTS delivery_attempts_failed ON ONLY delivery_attempts (org_id, url, finished_at)
        WHERE outcome <> 'delivered';
    -- Days that are made from here on have it.
    COMMIT;
    FOR day IN
        SELECT inhrelid FROM pg_inherits WHERE inhparent = 'delivery_attempts'::regclass ORDER BY inhrelid DESC
    LOOP
        -- It may have been dropped meanwhile.
        SELECT c.relname INTO name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhrelid = day AND NOT i.inhdetachpending;
        CONTINUE WHEN name IS NULL OR EXISTS (
            SELECT 1 FROM pg_index i JOIN pg_inherits h ON h.inhrelid = i.indexrelid
            WHERE i.indrelid = day AND h.inhparent = 'delivery_attempts_failed'::regclass);
        EXECUTE format('CREATE INDEX %I ON %I (org_id, url, finished_at) WHERE outcome <> ''delivered''',
                       name || '_failed', name);
        EXECUTE format('ALTER INDEX delivery_attempts_failed ATTACH PARTITION %I', name || '_failed');
        COMMIT;
    END LOOP;
END
$$;
