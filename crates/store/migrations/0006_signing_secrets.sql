-- Signing secrets of an organization's own: staged, current, previous, dropped (domain::secret).
CREATE TABLE signing_secrets (
    org_id             uuid        NOT NULL REFERENCES organisations,
    id                 uuid        NOT NULL,
    -- The text, sealed with a key of the configuration; null once it was dropped by hand.
    sealed             text,
    created_by         uuid,
    created_at         timestamptz NOT NULL,
    promoted_at        timestamptz,
    ends_at            timestamptz,
    -- Until when the deployment's secret signs beside it.
    deployment_ends_at timestamptz,
    -- Serves the list (newest first) and one secret by id.
    PRIMARY KEY (org_id, id)
);

-- Serves forgetting secrets that ended long ago.
CREATE INDEX signing_secrets_ended ON signing_secrets (ends_at) WHERE ends_at IS NOT NULL;

-- What the trail must still be told of secrets; a row goes when it was told.
CREATE TABLE signing_secret_changes (
    org_id    uuid        NOT NULL,
    secret_id uuid        NOT NULL,
    -- staged, promoted or dropped.
    what      text        NOT NULL,
    made_by   uuid        NOT NULL,
    made_at   timestamptz NOT NULL,
    -- Of a promotion: until when the secret before signs beside it.
    until     timestamptz,
    -- Serves forgetting the one that was told.
    PRIMARY KEY (org_id, secret_id, what)
);

-- Serves telling the trail what it was not told yet.
CREATE INDEX signing_secret_changes_to_tell ON signing_secret_changes (made_at);
