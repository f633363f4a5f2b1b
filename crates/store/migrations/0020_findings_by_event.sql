-- Every event that says that a thing was done which was not allowed is told of, also while another of the same decision
-- waits. The table holds only what was not told yet, so it is small and the key is made at once.
ALTER TABLE integrity_findings
    DROP CONSTRAINT integrity_findings_pkey,
    -- Serves having each event once, forgetting the one that was told, and the bound on those of one decision.
    ADD PRIMARY KEY (org_id, decision_id, event_id);
