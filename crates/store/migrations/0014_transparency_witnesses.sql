-- The witnesses of each transparency log: what each of them cosigned last, and the newest checkpoint that any of them did.

CREATE TABLE transparency_witnesses (
    org_id        uuid        NOT NULL,
    -- Its public key, as a verifier takes it.
    witness       text        NOT NULL,
    -- How many leaves the last checkpoint has that it cosigned, and when it did. NULL: it cosigned none.
    size          bigint,
    cosigned_at   timestamptz,
    -- Why it did not cosign what was signed since, and since when. NULL: it does.
    problem       text,
    problem_since timestamptz,
    -- Serves asking and showing the witnesses of a log.
    PRIMARY KEY (org_id, witness)
);

-- The newest checkpoint that a witness cosigned, with the cosignatures, and since when the log has a newer one. NULL: it has not.
ALTER TABLE transparency_logs
    ADD COLUMN witnessed_size bigint,
    ADD COLUMN witnessed_checkpoint text,
    ADD COLUMN outgrown_at timestamptz;

-- Serves asking witnesses: the logs that were signed lately.
CREATE INDEX transparency_logs_by_time ON transparency_logs (signed_at);
