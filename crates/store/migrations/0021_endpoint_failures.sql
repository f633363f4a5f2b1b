-- How many attempts at an endpoint failed lately, so that its health is said from them.

-- Serves the failed attempts at one endpoint in the last day, newest first. An attempt is kept in the day of its event, so
-- every day is looked into. An index of all attempts would take half as much space again as they do, and every
-- delivery would pay for it (about 10 us); only failures do.
CREATE INDEX delivery_attempts_failed ON delivery_attempts (org_id, url, finished_at) WHERE outcome <> 'delivered';
