-- Why there is a delivery: a match, a test, or a summary of alerts that were kept back.
ALTER TABLE deliveries
    ADD COLUMN cause      text    NOT NULL DEFAULT 'match',
    -- How many alerts a summary stands for.
    ADD COLUMN suppressed integer NOT NULL DEFAULT 0;
