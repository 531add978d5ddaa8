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
    running pgblend_data.experiment;
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
