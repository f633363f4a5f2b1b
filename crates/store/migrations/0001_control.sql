-- The control plane: who there is, what they may do, what they watch for.

CREATE TABLE organisations (
    id         uuid        PRIMARY KEY,
    name       text        NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE users (
    id            uuid        PRIMARY KEY,
    org_id        uuid        NOT NULL REFERENCES organisations,
    email         text        NOT NULL UNIQUE CHECK (email = lower(email)),
    -- argon2id, in PHC form.
    password_hash text        NOT NULL,
    created_at    timestamptz NOT NULL
);

CREATE TABLE api_keys (
    org_id     uuid        NOT NULL REFERENCES organisations,
    id         uuid        NOT NULL,
    name       text        NOT NULL,
    -- SHA-256 of the key; the key itself is never stored.
    hash       text        NOT NULL UNIQUE,
    scopes     text[]      NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    PRIMARY KEY (org_id, id)
);

CREATE TABLE alert_rules (
    org_id      uuid        NOT NULL REFERENCES organisations,
    id          uuid        NOT NULL,
    name        text        NOT NULL,
    description text,
    enabled     boolean     NOT NULL,
    -- The customer's JSON, as written.
    match       text        NOT NULL,
    url         text        NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    version     integer     NOT NULL,
    -- Serves the list of an organisation's rules, newest first.
    PRIMARY KEY (org_id, id)
);

-- What the data plane must be told, written in the same transaction as the change itself and
-- announced in the journal afterwards, in this order.
CREATE TABLE config_outbox (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bucket text   NOT NULL,
    key    text   NOT NULL,
    value  text
);
