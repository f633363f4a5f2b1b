-- Views: searches that people keep under a name.

CREATE TABLE views (
    org_id     uuid        NOT NULL REFERENCES organisations,
    id         uuid        NOT NULL,
    -- Whose it is; NULL: the organization's, for all its members.
    user_id    uuid,
    -- What is searched (domain::query::List).
    list       text        NOT NULL CHECK (list IN ('events', 'decisions', 'deliveries')),
    name       text        NOT NULL,
    -- A JSON object: the parameters of the search, each with its values (domain::view::Search).
    search     text        NOT NULL,
    -- Who saved it; they may be gone by now.
    created_by uuid        NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (org_id, id),
    -- Serves the list of what somebody sees, and taking a person's own with them.
    UNIQUE NULLS NOT DISTINCT (org_id, user_id, list, name),
    FOREIGN KEY (org_id, user_id) REFERENCES users (org_id, id) ON DELETE CASCADE
);
