-- _gateway_request: what _post_to_gateway needs for a call: {"url", "path", "body", "timeout_ms",
-- "most_bytes", "places", "data_directory", "database"}.
-- The address is the setting gateway_url, null where there is none; `places` is model_calls.
CREATE OR REPLACE FUNCTION pgblend._gateway_request(path text, body jsonb, timeout_ms integer)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    -- One statement, where get_setting would read the catalogue for each name.
    of_database jsonb := coalesce((
        SELECT jsonb_object_agg(s.name, s.value) FROM pgblend._setting_values AS s
        WHERE s.name IN ('gateway_url', 'limits', 'model_calls')), '{}');
BEGIN
    RETURN jsonb_build_object(
        'url', of_database -> 'gateway_url',
        'path', path,
        'body', body::text,
        'timeout_ms', timeout_ms,
        'most_bytes', pgblend._setting_in_force(
            pgblend._setting_defaults('server') -> 'limits',
            nullif(of_database -> 'limits', 'null')) -> 'answer_bytes',
        'places', (pgblend._setting_defaults('server') -> 'model_calls')
            || coalesce(nullif(of_database -> 'model_calls', 'null'), '{}'),
        'data_directory', current_setting('data_directory'),
        'database', (
            SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database()));
END;
$function$;
