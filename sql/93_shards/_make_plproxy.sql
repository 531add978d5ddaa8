-- _make_plproxy: make the extension by which a coordinator asks its shards; again changes nothing.
-- Only a superuser may call it.
CREATE OR REPLACE FUNCTION pgblend._make_plproxy()
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    -- Calls in text: none (a schema by name).
    EXECUTE format('CREATE EXTENSION IF NOT EXISTS plproxy SCHEMA %s', (
        SELECT e.extnamespace::regnamespace FROM pg_extension AS e WHERE e.extname = 'vector'));
END;
$function$;
