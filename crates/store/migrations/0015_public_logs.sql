-- Whether anybody may read an organization's transparency log, without a key.
ALTER TABLE transparency_logs ADD COLUMN is_public boolean NOT NULL DEFAULT false;

-- Serves telling of the logs that have stopped.
CREATE INDEX transparency_logs_stopped ON transparency_logs (org_id) WHERE stopped IS NOT NULL;
