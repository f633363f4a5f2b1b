-- What the log of outcomes says a second time is not counted a second time.

-- Matches that count towards a threshold have no row of their own. Of a log that is applied from its beginning again
-- those up to `counted_before` were counted; `counted_at` is the latest that was. Served by the key.
ALTER TABLE journal_watermark
    ADD COLUMN counted_at     timestamptz,
    ADD COLUMN counted_before timestamptz;

-- As much as is known of what was counted so far: of any log.
UPDATE journal_watermark SET counted_at = (SELECT max(last_at) FROM rule_counts);

-- Dead letters that were applied, by their places in the logs: whoever applied one may have died before it was removed.
-- Served by the key: one is applied once.
CREATE TABLE redriven_letters (
    place       text        PRIMARY KEY,
    redriven_at timestamptz NOT NULL DEFAULT now()
);

-- Serves forgetting what is older than it is kept.
CREATE INDEX redriven_letters_by_time ON redriven_letters (redriven_at);
