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
    running pgblend_data.experiment;
    found_outcome jsonb;
BEGIN
    SELECT e.* INTO running FROM pgblend_data.experiment AS e
    WHERE e.profile = stop_experiment.profile AND e.stopped_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'profile % has no experiment that runs',
            coalesce(quote_ident(left(profile, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'SELECT * FROM blend.experiments';
    END IF;
    found_outcome := pgblend._experiment_outcome(running);
    UPDATE pgblend_data.experiment AS e
    SET stopped_at = now(), stopped_by = pgblend._asking_role(), outcome = found_outcome
    WHERE e.id = running.id;
    UPDATE pgblend_data.profile AS p SET experiment_id = NULL
    WHERE p.name = stop_experiment.profile;
    RETURN found_outcome;
END;
$function$;
