-- experiments: two profiles that live searches compare, or compared; what one came to is there when
-- it is stopped (until then admins ask experiment_status).
CREATE OR REPLACE VIEW blend.experiments WITH (security_invoker = true) AS
SELECT
    e.id AS experiment_id,  -- Id, as rows of its searches have it in details.
    e.profile,  -- Profile whose searches take part.
    e.rival,  -- Profile that it is compared with.
    e.settings,  -- Settings of the profile, by which searches took part.
    e.rival_settings,  -- Those of the rival.
    e.started_by,  -- Who began it.
    e.started_at,  -- When.
    e.stopped_by,  -- Who ended it; NULL while it runs.
    e.stopped_at,  -- When.
    e.outcome  -- What it came to: searches, clicked, votes of each, evidence, verdict.
FROM pgblend_data.experiment AS e;
