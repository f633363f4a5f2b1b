-- no-transaction
-- An index of a table that is cut into days, as the next version may add one. Nothing here is Watchbell's.
--
-- It is made day by day, each in a transaction of its own: writers of one day wait at a time, and for that day only.
-- PostgreSQL makes no index of a partitioned table concurrently, and of a day only by a statement that names it. Whoever is
-- interrupted goes on with the days that have none yet. One statement, because several would be one transaction.
DO $$
DECLARE
    day oid;
    name text;
BEGIN
    CREATE INDEX IF NOT EXISTS next_index ON ONLY delivery_attempts (org_id, status, finished_at)
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
            WHERE i.indrelid = day AND h.inhparent = 'next_index'::regclass);
        EXECUTE format('CREATE INDEX %I ON %I (org_id, status, finished_at) WHERE outcome <> ''delivered''',
                       name || '_next', name);
        EXECUTE format('ALTER INDEX next_index ATTACH PARTITION %I', name || '_next');
        COMMIT;
    END LOOP;
END
$$;
