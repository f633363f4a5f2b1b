-- Whether anybody may read an organization's transparency log, without a key.
ALTER TABLE transparency_logs ADD COLUMN is_public boolean NOT NULL DEFAULT false;
