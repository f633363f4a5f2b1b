-- People: what part they play, where they are logged in, the links that were mailed to them, and their API keys.

CREATE TABLE users (
    id            uuid        PRIMARY KEY,
    org_id        uuid        NOT NULL REFERENCES organisations,
    email         text        NOT NULL UNIQUE CHECK (email = lower(email)),
    -- argon2id, in PHC form.
    password_hash text        NOT NULL,
    created_at    timestamptz NOT NULL,
    role          text        NOT NULL CHECK (role IN ('owner', 'admin', 'viewer'))
);

-- Serves the list of an organization's members and the count of its owners.
CREATE UNIQUE INDEX users_of_organisation ON users (org_id, id);

CREATE TABLE sessions (
    org_id         uuid        NOT NULL,
    user_id        uuid        NOT NULL,
    id             uuid        NOT NULL,
    -- SHA-256 of the cookie; the cookie itself is never stored. Serves every request with a cookie.
    token_hash     text        NOT NULL UNIQUE,
    created_at     timestamptz NOT NULL,
    -- Moves at most every few minutes; the session ends when it has not moved for a week.
    last_seen_at   timestamptz NOT NULL,
    -- When it ends whatever happens.
    expires_at     timestamptz NOT NULL,
    user_agent     text,
    client_address text,
    -- Serves the list of one's own sessions, newest first.
    PRIMARY KEY (org_id, user_id, id),
    FOREIGN KEY (org_id, user_id) REFERENCES users (org_id, id) ON DELETE CASCADE
);

-- Accounts that are not yet: they become one when the link that was mailed is opened. Until then they take nobody's
-- address away. An address may have several, each with its own link.
CREATE TABLE registrations (
    token_hash    text        PRIMARY KEY,
    org_name      text        NOT NULL,
    email         text        NOT NULL CHECK (email = lower(email)),
    password_hash text        NOT NULL,
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL
);

-- Serves the removal of an address's other registrations.
CREATE INDEX registrations_of_address ON registrations (email, created_at);

-- Links to choose a new password; at most one for each person, gone when used.
CREATE TABLE password_resets (
    org_id     uuid        NOT NULL,
    user_id    uuid        NOT NULL,
    -- Serves the look-up by the link.
    token_hash text        NOT NULL UNIQUE,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (org_id, user_id),
    FOREIGN KEY (org_id, user_id) REFERENCES users (org_id, id) ON DELETE CASCADE
);

CREATE TABLE invitations (
    org_id     uuid        NOT NULL REFERENCES organisations,
    id         uuid        NOT NULL,
    email      text        NOT NULL CHECK (email = lower(email)),
    role       text        NOT NULL CHECK (role IN ('owner', 'admin', 'viewer')),
    -- Who invited; they may be gone by now.
    invited_by uuid        NOT NULL,
    -- Serves the look-up by the link.
    token_hash text        NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Serves the list of an organization's invitations, newest first.
    PRIMARY KEY (org_id, id),
    -- Inviting again replaces.
    UNIQUE (org_id, email)
);

CREATE TABLE api_keys (
    org_id       uuid        NOT NULL REFERENCES organisations,
    id           uuid        NOT NULL,
    name         text        NOT NULL,
    -- SHA-256 of the key; the key itself is never stored.
    hash         text        NOT NULL UNIQUE,
    scopes       text[]      NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    -- The last characters of the key, to tell keys apart.
    hint         text        NOT NULL,
    -- NULL: an operator, by a command.
    created_by   uuid,
    -- To within the seconds that uses are gathered for.
    last_used_at timestamptz,
    revoked_at   timestamptz,
    -- Its successor, if it was rotated; it ends soon and is not rotated again.
    replaced_by  uuid,
    -- The agents that it speaks for, as `billing-*`; without any it speaks for whomever it says.
    agents       text[]      NOT NULL,
    PRIMARY KEY (org_id, id)
);

-- What the trail must still be told of accounts: keys, members, invitations and logins. A row goes when it was told.
CREATE TABLE account_changes (
    org_id  uuid        NOT NULL,
    -- What it is told by follows from it.
    id      uuid        NOT NULL DEFAULT gen_random_uuid(),
    -- What was done (domain::account::security_log::What).
    what    text        NOT NULL,
    made_by text        NOT NULL,
    -- A JSON object: the metadata of the event.
    details text        NOT NULL,
    made_at timestamptz NOT NULL,
    -- Serves telling what an organization just did, and forgetting what was told.
    PRIMARY KEY (org_id, id)
);

-- Serves telling the trail what it was not told yet.
CREATE INDEX account_changes_to_tell ON account_changes (made_at);
