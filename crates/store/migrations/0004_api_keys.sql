-- API keys as people manage them. Keys made before this have no maker and no hint.
ALTER TABLE api_keys
    -- The last characters of the key, to tell keys apart.
    ADD COLUMN hint         text,
    ADD COLUMN created_by   uuid,
    -- To within the seconds that uses are gathered for.
    ADD COLUMN last_used_at timestamptz,
    ADD COLUMN revoked_at   timestamptz,
    -- Its successor, if it was rotated; it ends soon and is not rotated again.
    ADD COLUMN replaced_by  uuid;
