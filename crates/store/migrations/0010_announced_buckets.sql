-- The journal's buckets of last values that everything was announced to. One that was made at another time was made anew, and
-- knows nothing.
CREATE TABLE announced_buckets (
    bucket  text PRIMARY KEY,
    -- As the journal writes it.
    created text NOT NULL
);
