-- start_experiment: let searches by a profile show rows of another one as well, and compare the two
-- by what is opened; returns the experiment's id.
-- Searches of hybrid_search, search_explain, ask and get_context by `profile` take part from now
-- on: both lists are made and interleaved (team-draft), which costs about twice as much. Each row
-- says in details which profiles gave it. What a role asks has always the same interleaving, and a
-- cursor keeps its own, so pages hold. Evaluations and searches by one arm take no part. Neither
-- profile can be changed meanwhile. Errors: an unknown profile, one against itself or in another
-- experiment, two embedding spaces, searches that are not logged with their query (log_address,
-- log_queries). Members of pgblend_admin may.
CREATE OR REPLACE FUNCTION blend.start_experiment(profile text, rival text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    named text;
    of_profile jsonb;
    of_rival jsonb;
    running record;
    started bigint;
BEGIN
    PERFORM FROM pgblend_data.profile AS p WHERE p.name IN (start_experiment.profile, rival)
    ORDER BY p.name FOR UPDATE;
    FOREACH named IN ARRAY ARRAY[profile, rival] LOOP
        SELECT e.* INTO running FROM pgblend_data.experiment AS e
        WHERE e.stopped_at IS NULL AND named IN (e.profile, e.rival);
        IF FOUND THEN
            RAISE EXCEPTION 'profile "%" is in an experiment of "%" and "%"',
                named, running.profile, running.rival
                USING ERRCODE = '55006',
                HINT = format('SELECT blend.stop_experiment(%L)', running.profile);
        ELSIF NOT EXISTS (SELECT FROM pgblend_data.profile AS p WHERE p.name = named) THEN
            RAISE EXCEPTION 'there is no profile %',
                coalesce(quote_ident(left(named, 200)), 'NULL')
                USING ERRCODE = '22023', HINT = 'SELECT name FROM blend.profiles';
        END IF;
    END LOOP;
    of_profile := (SELECT p.settings FROM pgblend_data.profile AS p WHERE p.name = profile);
    of_rival := (SELECT p.settings FROM pgblend_data.profile AS p WHERE p.name = rival);
    IF profile = rival THEN
        RAISE EXCEPTION 'profile and rival are both "%": expected two', profile
            USING ERRCODE = '22023', HINT = 'SELECT name FROM blend.profiles';
    ELSIF of_profile -> 'space' IS DISTINCT FROM of_rival -> 'space' THEN
        RAISE EXCEPTION 'the profiles search in the spaces % and %: expected one',
            coalesce(of_profile -> 'space', 'null'), coalesce(of_rival -> 'space', 'null')
            USING ERRCODE = '22023', HINT = 'pgblend space compare compares two spaces.';
    ELSIF coalesce(blend.get_setting('log_address'), 'null') = 'null'
        OR blend.get_setting('log_queries') = '"off"'
    THEN
        RAISE EXCEPTION 'searches are not logged, so nobody would know what was opened'
            USING ERRCODE = '55000',
            HINT = 'Set log_address to where a gateway runs with this database, and log_queries '
                'to on or hash.';
    END IF;
    INSERT INTO pgblend_data.experiment (profile, rival, settings, rival_settings)
    VALUES (profile, rival, of_profile, of_rival)
    RETURNING id INTO started;
    UPDATE pgblend_data.profile AS p SET experiment_id = started
    WHERE p.name = start_experiment.profile;
    RETURN started;
END;
$function$;

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
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 10
AS $function$
BEGIN
    RETURN QUERY
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
$function$;

-- stop_experiment: end a profile's experiment; returns what it came to (experiment_status).
-- {"searches", "clicked", "profile_votes", "rival_votes", "evidence", "verdict"}; verdict is null
-- where there is none. Nothing else changes: set_setting('default_profile', …) makes the better
-- profile the default. Pages that were begun go on as they were. 22023 where the profile has no
-- experiment. Members of pgblend_admin may.
CREATE OR REPLACE FUNCTION blend.stop_experiment(profile text)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    running record;
    found_outcome jsonb;
BEGIN
    SELECT e.id, e AS experiment INTO running FROM pgblend_data.experiment AS e
    WHERE e.profile = stop_experiment.profile AND e.stopped_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'profile % has no experiment that runs',
            coalesce(quote_ident(left(profile, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'SELECT * FROM blend.experiments';
    END IF;
    found_outcome := pgblend._experiment_outcome(running.experiment);
    UPDATE pgblend_data.experiment AS e
    SET stopped_at = now(), stopped_by = pgblend._asking_role(), outcome = found_outcome
    WHERE e.id = running.id;
    UPDATE pgblend_data.profile AS p SET experiment_id = NULL
    WHERE p.name = stop_experiment.profile;
    RETURN found_outcome;
END;
$function$;

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

-- _experiment_votes: what clicks said so far in an experiment.
-- {"searches", "clicked", "profile_votes", "rival_votes"}. A vote is of a role and a query: its
-- first search in which rows that one profile alone gave were opened more often than the other's.
-- So one who searches the same a hundred times votes once. Passages of documents with readers of
-- their own give no vote: the better profile is for all. Admins may, who read the log.
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
                WHEN pgblend._has_own_readers((r.result ->> 'document_id')::bigint) THEN 0
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
