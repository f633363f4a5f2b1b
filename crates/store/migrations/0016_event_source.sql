-- Who wrote an event: `server`, or the id of an API key. NULL: it was recorded before events said so.
ALTER TABLE audit_events ADD COLUMN source text;
