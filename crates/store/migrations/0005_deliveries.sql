-- What the delivery log says: deliveries and their attempts, in days as events are; the endpoints that they go to; and the
-- jobs that send deliveries of the past again.

CREATE TABLE deliveries (
    org_id     uuid        NOT NULL,
    id         uuid        NOT NULL,
    event_id   uuid        NOT NULL,
    rule_id    uuid        NOT NULL,
    rule_name  text        NOT NULL,
    event_type text        NOT NULL,
    url        text        NOT NULL,
    state      text        NOT NULL,
    attempts   integer     NOT NULL,
    matched_at timestamptz NOT NULL,
    next_at    timestamptz,
    -- Why there is a delivery: a match, a test, or a summary of alerts that were kept back.
    cause      text        NOT NULL,
    -- How many alerts a summary stands for.
    suppressed integer     NOT NULL,
    -- Why it is held, failed or canceled.
    reason     text,
    -- A delivery that somebody asks for again begins a round: since when it has been due, and the number of the round's
    -- first attempt. NULL and 1: nobody asked.
    round_at   timestamptz,
    round_from integer     NOT NULL DEFAULT 1,
    -- Serves the list (newest first) and one delivery by id.
    PRIMARY KEY (org_id, id)
) PARTITION BY RANGE (id);

-- Serves the list by rule, newest first, recovering a rule's deliveries, and counting them by the hour.
CREATE INDEX deliveries_by_rule ON deliveries (org_id, rule_id, id);
-- Serves the list by state, newest first. Nearly all are delivered, and those are found without it.
CREATE INDEX deliveries_by_state ON deliveries (org_id, state, id) WHERE state <> 'delivered';
-- Serves the list by event: the id of a match has its event's time, these have their own.
CREATE INDEX deliveries_by_event ON deliveries (org_id, event_id) WHERE cause <> 'match';
-- Serves the reconciler, of all organizations: how many are under way, and which are due first.
CREATE INDEX deliveries_under_way ON deliveries (state, (coalesce(next_at, matched_at)))
    WHERE state IN ('pending', 'scheduled', 'held');

CREATE TABLE delivery_attempts (
    org_id         uuid        NOT NULL,
    delivery_id    uuid        NOT NULL,
    id             uuid        NOT NULL,
    number         integer     NOT NULL,
    trigger        text        NOT NULL,
    due_at         timestamptz NOT NULL,
    started_at     timestamptz NOT NULL,
    finished_at    timestamptz NOT NULL,
    signed_at      timestamptz NOT NULL,
    url            text        NOT NULL,
    remote_address text,
    body_sha256    text        NOT NULL,
    body_bytes     integer     NOT NULL,
    status         integer,
    outcome        text        NOT NULL,
    error          text,
    answer         text        NOT NULL,
    -- When each phase was over, in microseconds from the start.
    resolved_us    integer,
    connected_us   integer,
    secured_us     integer,
    sent_us        integer,
    answered_us    integer,
    tls            text,
    -- The secrets it was signed with, a JSON array; the first gave the main signature.
    secrets        text        NOT NULL,
    -- A JSON array of pairs.
    answer_headers text        NOT NULL,
    clock_skew_s   integer,
    retry_after_s  integer,
    -- What was decided on it: where the delivery stood after it.
    state          text,
    reason         text,
    next_at        timestamptz,
    -- Serves the timeline of one delivery, oldest attempt first.
    PRIMARY KEY (org_id, delivery_id, id)
) PARTITION BY RANGE (delivery_id);

-- Serves the failed attempts at one endpoint in the last day, newest first, so that its health is said from them. An
-- attempt is kept in the day of its event, so every day is looked into. An index of all attempts would take half as much
-- space again as they do, and every delivery would pay for it (about 10 us); only failures do.
CREATE INDEX delivery_attempts_failed ON delivery_attempts (org_id, url, finished_at) WHERE outcome <> 'delivered';

-- How many deliveries the matcher has decided on, by rule and hour of their ids: what the rows are held against. Kept by
-- the recorder, in the transaction that writes the deliveries.
CREATE TABLE delivery_counts (
    org_id     uuid        NOT NULL,
    rule_id    uuid        NOT NULL,
    bucket     timestamptz NOT NULL,
    -- To be sent; kept back because there was an alert just now; not sent because the rule is snoozed or only watched;
    -- summaries of what was kept back.
    alerts     bigint      NOT NULL,
    suppressed bigint      NOT NULL,
    withheld   bigint      NOT NULL,
    summaries  bigint      NOT NULL,
    -- Serves the balance of one rule.
    PRIMARY KEY (org_id, rule_id, bucket)
);

-- Serves the reconciler, which looks at one hour at a time, and forgetting what is older than it is kept.
CREATE INDEX delivery_counts_by_bucket ON delivery_counts (bucket);

-- Endpoints that are or were in trouble, as of the last notice; the journal has them as they are now.
CREATE TABLE endpoints (
    org_id     uuid        NOT NULL,
    id         uuid        NOT NULL,
    url        text        NOT NULL,
    -- active, paused or disabled.
    status     text        NOT NULL,
    -- All of it, as JSON.
    endpoint   text        NOT NULL,
    -- What went wrong last, in plain words.
    error      text,
    noticed_at timestamptz NOT NULL,
    -- Serves the list and one endpoint by id.
    PRIMARY KEY (org_id, id)
);

-- Serves forgetting endpoints that have been well for long.
CREATE INDEX endpoints_by_notice ON endpoints (noticed_at) WHERE status = 'active';

-- What the owners of endpoints were told of, and are still to be mailed.
CREATE TABLE endpoint_notices (
    org_id      uuid        NOT NULL,
    endpoint_id uuid        NOT NULL,
    at          timestamptz NOT NULL,
    notice      text        NOT NULL,
    error       text,
    -- none, waiting, sent or dropped.
    mail        text        NOT NULL,
    mailed_at   timestamptz,
    -- Serves the notices of one endpoint, newest first.
    PRIMARY KEY (org_id, endpoint_id, at, notice)
);

-- Serves mailing what waits.
CREATE INDEX endpoint_notices_to_mail ON endpoint_notices (at) WHERE mail = 'waiting';
-- Serves the bound on an organization's mails.
CREATE INDEX endpoint_notices_mailed ON endpoint_notices (org_id, mailed_at) WHERE mail = 'sent';
-- Serves forgetting what is older than it is kept.
CREATE INDEX endpoint_notices_by_time ON endpoint_notices (at);

-- Jobs that send a rule's deliveries of the past again.
CREATE TABLE recoveries (
    org_id       uuid        NOT NULL,
    id           uuid        NOT NULL,
    rule_id      uuid        NOT NULL,
    -- The key or the person.
    asked_by     text        NOT NULL,
    -- Deliveries that were matched from then on and before then, in one of these states.
    since        timestamptz NOT NULL,
    until        timestamptz NOT NULL,
    states       text[]      NOT NULL,
    -- running, done, canceled or failed.
    state        text        NOT NULL,
    -- NULL: counting the deliveries would have taken too long; the job goes through them all the same.
    total        bigint,
    done         bigint      NOT NULL,
    skipped      bigint      NOT NULL,
    error        text,
    -- Everything up to this delivery was seen to.
    after        uuid        NOT NULL,
    -- The deliveries that are being sent again right now, and since when they are due: whoever goes on after a crash
    -- begins with these.
    page         uuid[]      NOT NULL,
    page_at      timestamptz,
    tries        integer     NOT NULL,
    created_at   timestamptz NOT NULL,
    finished_at  timestamptz,
    -- Who works on it, until when. A job that nobody has can be taken from then on.
    lease        uuid,
    leased_until timestamptz NOT NULL,
    -- Serves the list (newest first) and one job by id.
    PRIMARY KEY (org_id, id)
);

-- Serves taking the job that waits longest.
CREATE INDEX recoveries_to_do ON recoveries (leased_until) WHERE state = 'running';
-- Serves forgetting what is older than it is kept.
CREATE INDEX recoveries_by_time ON recoveries (created_at);
