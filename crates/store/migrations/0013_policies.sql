-- What agents may do: every version of an organisation's policies, and where they stand (domain::policies).

-- Never changed and never deleted. Version 1 is the same for everybody and no row.
CREATE TABLE policy_versions (
    org_id     uuid        NOT NULL REFERENCES organisations,
    version    integer     NOT NULL CHECK (version > 1),
    -- Names the texts of policies and schema.
    digest     text        NOT NULL,
    policies   text        NOT NULL,
    schema     text,
    -- A JSON array.
    tests      text        NOT NULL,
    note       text,
    -- How many policies there are, for the list.
    size       integer     NOT NULL,
    -- The key or the person.
    created_by text        NOT NULL,
    created_at timestamptz NOT NULL,
    -- Serves the list, newest first, and one version.
    PRIMARY KEY (org_id, version)
);

-- One row for each organisation that has changed anything; locked while it changes.
CREATE TABLE policy_guards (
    org_id           uuid    PRIMARY KEY REFERENCES organisations,
    newest_version   integer NOT NULL,
    active_version   integer NOT NULL,
    active_since     timestamptz,
    active_by        text,
    -- What to roll back to.
    previous_version integer,
    shadow_version   integer,
    shadow_since     timestamptz,
    shadow_by        text,
    -- A JSON object (domain::guard::Settings).
    settings         text    NOT NULL,
    -- How many changes there were.
    changes          integer NOT NULL
);

-- What the trail must still be told of policies; a row goes when it was told.
CREATE TABLE policy_changes (
    org_id     uuid        NOT NULL,
    -- Counts an organisation's changes.
    number     integer     NOT NULL,
    -- The action of the audit event.
    what       text        NOT NULL,
    version    integer,
    digest     text,
    -- Of an activation: the version that was active until then.
    instead_of integer,
    settings   text,
    made_by    text        NOT NULL,
    made_at    timestamptz NOT NULL,
    -- Serves forgetting the one that was told.
    PRIMARY KEY (org_id, number)
);

-- Serves telling the trail what it was not told yet.
CREATE INDEX policy_changes_to_tell ON policy_changes (made_at);
