-- _regconfig: the visible text search configuration of that name, NULL where there is none.
-- plpgsql keeps its plan for the session; an SQL function is planned in each statement. The path
-- says which are visible, so all else is named with its schema.
CREATE OR REPLACE FUNCTION pgblend._regconfig(config_name text)
RETURNS regconfig
LANGUAGE plpgsql
STABLE PARALLEL SAFE
STRICT
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN (
        SELECT c.oid::pg_catalog.regconfig
        FROM pg_catalog.pg_ts_config AS c
        WHERE c.cfgname OPERATOR(pg_catalog.=) config_name
            AND pg_catalog.pg_ts_config_is_visible(c.oid));
END;
$function$;
