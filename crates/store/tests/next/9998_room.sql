-- Makes room as the next version may: what runs now goes on without knowing of it. Nothing here is Watchbell's.

-- A column that may be NULL, or has a constant default, is added without rewriting the table.
ALTER TABLE audit_events ADD COLUMN next_note text;
ALTER TABLE deliveries ADD COLUMN next_number integer NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN next_note text NOT NULL DEFAULT '';

-- New rows are held to it at once, those that are there when it is validated, which locks out no writer.
ALTER TABLE alert_rules ADD CONSTRAINT next_version CHECK (version > 0) NOT VALID;

CREATE TABLE next_things (
    org_id uuid NOT NULL REFERENCES organisations,
    id     uuid NOT NULL,
    PRIMARY KEY (org_id, id)
);
