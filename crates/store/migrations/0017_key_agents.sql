-- The agents that a key speaks for, as `billing-*`; without any it speaks for whomever it says.
ALTER TABLE api_keys ADD COLUMN agents text[] NOT NULL DEFAULT '{}';
