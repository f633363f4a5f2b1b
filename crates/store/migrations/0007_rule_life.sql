-- The life of a rule: what its owner wrote in one piece, every version of it, and who made which.

ALTER TABLE alert_rules
    -- What the owner wrote, as JSON, with every default filled in.
    ADD COLUMN definition   text,
    -- Serves the list's filter by tag.
    ADD COLUMN tags         text[]  NOT NULL DEFAULT '{}',
    -- The version since which it has counted as it does now.
    ADD COLUMN counts_since integer NOT NULL DEFAULT 1,
    -- Whether an event meets it only by one of its values. Those that are not are few.
    ADD COLUMN is_indexed   boolean NOT NULL DEFAULT true,
    -- The key or the person, as the audit event names it. Rules from before this have none.
    ADD COLUMN created_by   text,
    ADD COLUMN updated_by   text;

UPDATE alert_rules
SET definition = json_build_object('name', name, 'description', description, 'enabled', enabled,
                                   'match', match::json, 'url', url)::text,
    is_indexed = match <> '{}';

-- `enabled` stays beside the definition: it serves the list's filter.
ALTER TABLE alert_rules
    ALTER COLUMN definition SET NOT NULL,
    ALTER COLUMN tags DROP DEFAULT,
    ALTER COLUMN counts_since DROP DEFAULT,
    ALTER COLUMN is_indexed DROP DEFAULT,
    DROP COLUMN name,
    DROP COLUMN description,
    DROP COLUMN match,
    DROP COLUMN url;

CREATE TABLE alert_rule_versions (
    org_id      uuid        NOT NULL REFERENCES organisations,
    rule_id     uuid        NOT NULL,
    version     integer     NOT NULL,
    -- created, updated, enabled, disabled or deleted.
    what        text        NOT NULL,
    -- The fields in which it differs from the version before.
    changed     text[]      NOT NULL,
    definition  text        NOT NULL,
    -- The key or the person.
    made_by     text,
    made_at     timestamptz NOT NULL,
    -- Whether the trail has the audit event of it.
    is_recorded boolean     NOT NULL,
    -- Serves the list of a rule's versions, newest first, and one of them.
    PRIMARY KEY (org_id, rule_id, version)
);

-- Serves telling the trail what it was not told yet.
CREATE INDEX alert_rule_versions_to_record ON alert_rule_versions (made_at) WHERE NOT is_recorded;
-- Serves forgetting rules that were deleted long ago.
CREATE INDEX alert_rule_versions_deleted ON alert_rule_versions (made_at) WHERE what = 'deleted';

-- Of the rules that are there already only the newest version is known.
INSERT INTO alert_rule_versions (org_id, rule_id, version, what, changed, definition, made_at, is_recorded)
SELECT org_id, id, version, CASE version WHEN 1 THEN 'created' ELSE 'updated' END, '{}', definition,
       updated_at, true
FROM alert_rules;
