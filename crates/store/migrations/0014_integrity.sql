-- What the trail must still be told of decisions that were not obeyed; a row goes when it was told, or when
-- it turns out that a person had approved.
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
    -- Serves having one for each decision, however many events name it, and forgetting the one that was told.
    PRIMARY KEY (org_id, decision_id)
);

-- Serves telling the trail what it was not told yet.
CREATE INDEX integrity_findings_to_tell ON integrity_findings (due_at);
