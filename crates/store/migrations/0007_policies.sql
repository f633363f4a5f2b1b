-- What agents may do: every version of an organization's policies, and where they stand (domain::policy_state).

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

-- One row for each organization that has changed anything; locked while it changes.
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
    -- Counts an organization's changes.
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

-- What the trail must still be told of decisions that were not obeyed; a row goes when it was told, or when it turns out
-- that a person had approved.
CREATE TABLE integrity_findings (
    org_id      uuid        NOT NULL,
    -- The event that says that the thing was done.
    event_id    uuid        NOT NULL,
    -- As the event names it, `dec_...`.
    decision_id text        NOT NULL,
    -- denied or escalated.
    decided     text        NOT NULL,
    event_type  text        NOT NULL,
    agent_id    text        NOT NULL,
    action      text        NOT NULL,
    session_id  text,
    -- Of the event: what it is told by follows from it.
    received_at timestamptz NOT NULL,
    -- When it may be told: one that was escalated waits for word of an approval.
    due_at      timestamptz NOT NULL,
    -- Every event that says that a thing was done which was not allowed is told of, also while another of the same
    -- decision waits. Serves having each event once, forgetting the one that was told, and the bound on those of one
    -- decision.
    PRIMARY KEY (org_id, decision_id, event_id)
);

-- Serves telling the trail what it was not told yet.
CREATE INDEX integrity_findings_to_tell ON integrity_findings (due_at);
