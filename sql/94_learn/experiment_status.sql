-- experiment_status: what each experiment came to so far, the newest first.
-- A vote is of a role and a query, by what it opened first of rows that one profile alone gave;
-- evidence is the Bayes factor of the votes against chance. verdict is the better profile, NULL
-- below 30 votes and below evidence 20: between equal profiles it is ever named with a chance of at
-- most 1/20, however often one looks. What is stopped stays as it was then. `of_profile` names one,
-- NULL all; one that had none gives no rows. Members of pgblend_admin may, who read the search log.
CREATE OR REPLACE FUNCTION blend.experiment_status(of_profile text DEFAULT NULL)
RETURNS TABLE (
    experiment_id bigint,
    profile text,
    rival text,
    started_at timestamptz,
    stopped_at timestamptz,
    searches bigint,
    clicked bigint,
    profile_votes bigint,
    rival_votes bigint,
    evidence double precision,
    verdict text
)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 10
BEGIN ATOMIC
    SELECT
        e.id,
        e.profile,
        e.rival,
        e.started_at,
        e.stopped_at,
        (o.outcome ->> 'searches')::bigint,
        (o.outcome ->> 'clicked')::bigint,
        (o.outcome ->> 'profile_votes')::bigint,
        (o.outcome ->> 'rival_votes')::bigint,
        (o.outcome ->> 'evidence')::double precision,
        o.outcome ->> 'verdict' AS verdict
    FROM pgblend_data.experiment AS e
    CROSS JOIN LATERAL coalesce(e.outcome, pgblend._experiment_outcome(e)) AS o (outcome)
    WHERE of_profile IS NULL OR e.profile = of_profile
    ORDER BY e.id DESC;
END;
