-- _search_plan: what a search runs by: the settings in force (_merge_layers), and its stages.
-- `only_arm` and `traced` are _search's. Over the settings: "not_run", the stages that are wanted
-- and have no model (_missing_stages); "only_arm"; "stages", whether to expand and to rerank;
-- "no_expansion" and "no_rerank", why not; "is_logged", whether a log_address is set; "search_id",
-- null. Weights that are all 0 are an error.
CREATE OR REPLACE FUNCTION pgblend._search_plan(
    options jsonb,
    of_database jsonb,
    of_profile jsonb,
    of_collection jsonb,
    only_arm text,
    traced text
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    settings jsonb := pgblend._with_cursor_depth(
        pgblend._merge_layers(options, of_database, of_profile, of_collection), options)
        || pgblend._arm_settings(only_arm);
    -- By one arm nothing is expanded, and reranked only where the call says so.
    wanted jsonb := pgblend._wanted_stages(settings || CASE WHEN only_arm IS NULL THEN '{}'
        ELSE jsonb_build_object('mode', coalesce(options ->> 'mode', 'fast'), 'expand', 'off') END);
    missing jsonb := pgblend._missing_stages(wanted, settings, of_database);
BEGIN
    IF settings -> 'weights' @> '{"lexical": 0, "vector": 0}'
        AND NOT (settings ->> 'fuzzy' = 'on' AND (settings #>> '{weights,fuzzy}')::numeric > 0)
    THEN
        RAISE EXCEPTION 'options: "weights" are all 0: expected one above 0'
            USING ERRCODE = '22023', HINT = 'An arm of weight 0 is not run.';
    END IF;
    RETURN settings || jsonb_build_object(
        'not_run', missing, 'only_arm', only_arm,
        'stages', jsonb_build_object(
            'expand', (wanted ->> 'expand')::boolean AND NOT missing ? 'expand',
            'rerank', traced = 'rerank' OR (wanted ->> 'rerank')::boolean AND NOT missing ? 'rerank'),
        'no_expansion', coalesce(missing ->> 'expand', pgblend._why_not('expand', settings)),
        'no_rerank', coalesce(missing ->> 'rerank', pgblend._why_not('rerank', settings)),
        'is_logged', of_database ? 'log_address', 'search_id', NULL);
END;
$function$;
