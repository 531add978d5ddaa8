-- _gateway_request: what _post_to_gateway needs for a call: {"url", "path", "body", "timeout_ms",
-- "most_bytes", "places", "data_directory", "role", "database"}.
-- The address is the setting gateway_url, null where there is none; `places` is model_calls.
CREATE OR REPLACE FUNCTION pgblend._gateway_request(path text, body jsonb, timeout_ms integer)
RETURNS jsonb
LANGUAGE sql
STABLE PARALLEL UNSAFE
RETURN jsonb_build_object(
    'url', blend.get_setting('gateway_url'),
    'path', path,
    'body', body::text,
    'timeout_ms', timeout_ms,
    'most_bytes', blend.get_setting('limits') -> 'answer_bytes',
    'places', blend.get_setting('model_calls'),
    'data_directory', current_setting('data_directory'),
    'role', pgblend._asking_role(),
    'database', (
        SELECT d.oid FROM pg_catalog.pg_database AS d
        WHERE d.datname = current_database()
    )
);
