-- _experiment_votes: what clicks said so far in an experiment.
-- {"searches", "clicked", "profile_votes", "rival_votes"}. A vote is of a role and a query: its
-- first search in which rows that one profile alone gave were opened more often than the other's.
-- So one who searches the same a hundred times votes once. Admins may, who read the log.
CREATE OR REPLACE FUNCTION pgblend._experiment_votes(experiment pgblend_data.experiment)
RETURNS jsonb
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH shown AS (
        SELECT
            l.search_id,
            l.role_name,
            coalesce(l.query, l.search_id::text) AS query,
            l.searched_at,
            (r.result ->> 'chunk_id')::bigint AS chunk_id,
            CASE
                WHEN r.result -> 'profiles' = jsonb_build_array(experiment.profile) THEN -1
                WHEN r.result -> 'profiles' = jsonb_build_array(experiment.rival) THEN 1
                ELSE 0
            END AS side
        FROM pgblend_data.search_log AS l
        CROSS JOIN LATERAL jsonb_array_elements(l.results) AS r (result)
        WHERE
            l.purpose = 'search'
            AND l.searched_at >= experiment.started_at
            AND r.result -> 'experiment' = to_jsonb(experiment.id)
    ),

    searched AS (
        SELECT
            s.search_id,
            s.role_name,
            s.query,
            s.searched_at,
            count(c.chunk_id) AS clicks,
            coalesce(sum(s.side) FILTER (WHERE c.chunk_id IS NOT NULL), 0) AS lead
        FROM shown AS s
        LEFT JOIN pgblend_data.click AS c
            ON s.search_id = c.search_id AND s.chunk_id = c.chunk_id
            AND s.role_name = c.role_name
        GROUP BY s.search_id, s.role_name, s.query, s.searched_at
    ),

    vote AS (
        SELECT DISTINCT ON (s.role_name, s.query) s.lead
        FROM searched AS s
        WHERE s.lead <> 0
        ORDER BY s.role_name, s.query, s.searched_at, s.search_id
    )

    SELECT jsonb_build_object(
        'searches', (SELECT count(*) FROM searched),
        'clicked', (SELECT count(nullif(s.clicks, 0)) FROM searched AS s),
        'profile_votes', (SELECT count(nullif(v.lead < 0, false)) FROM vote AS v),
        'rival_votes', (SELECT count(nullif(v.lead > 0, false)) FROM vote AS v)
    );
END;

-- _vote_evidence: how much likelier votes are where one profile is better than where none is.
-- The Bayes factor of a coin whose chance is Beta(10, 10) against a fair one. It is a test
-- martingale (Ville 1939): between equal profiles it ever reaches 20 with a chance of 1/20 at
-- most, however often one looks. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._vote_evidence(profile_votes bigint, rival_votes bigint)
RETURNS double precision
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
STRICT
RETURN (
    -- No number of votes makes it infinite.
    SELECT exp(least(sum(s.term), 700))
    FROM (
        SELECT ln(2.0::double precision) * (profile_votes + rival_votes) AS term
        UNION ALL
        SELECT ln(10.0::double precision + i) FROM generate_series(0, profile_votes - 1) AS i
        UNION ALL
        SELECT ln(10.0::double precision + i) FROM generate_series(0, rival_votes - 1) AS i
        UNION ALL
        SELECT -ln(20.0::double precision + i)
        FROM generate_series(0, profile_votes + rival_votes - 1) AS i
    ) AS s
);

-- _experiment_outcome: what an experiment came to so far.
-- _experiment_votes, with "evidence" (_vote_evidence) and "verdict": the better profile where there
-- are 30 votes and the evidence is 20, else null. Admins may.
CREATE OR REPLACE FUNCTION pgblend._experiment_outcome(experiment pgblend_data.experiment)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    votes jsonb := pgblend._experiment_votes(experiment);
    of_profile bigint := votes ->> 'profile_votes';
    of_rival bigint := votes ->> 'rival_votes';
    evidence double precision := pgblend._vote_evidence(of_profile, of_rival);
BEGIN
    RETURN votes || jsonb_build_object(
        'evidence', evidence,
        'verdict', CASE
            WHEN of_profile + of_rival < 30 OR evidence < 20 THEN NULL
            WHEN of_profile > of_rival THEN experiment.profile
            ELSE experiment.rival
        END);
END;
$function$;
