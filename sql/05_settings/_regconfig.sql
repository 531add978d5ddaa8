-- _regconfig: the visible text search configuration of that name, NULL where there is none.
-- plpgsql keeps its plan for the session; an SQL function is planned in each statement.
CREATE OR REPLACE FUNCTION pgblend._regconfig(config_name text)
RETURNS regconfig
LANGUAGE plpgsql
STABLE PARALLEL SAFE
STRICT
AS $function$
BEGIN
    RETURN (
        SELECT c.oid::regconfig
        FROM pg_catalog.pg_ts_config AS c
        WHERE c.cfgname = config_name AND pg_ts_config_is_visible(c.oid));
END;
$function$;
