-- _regconfig: the visible text search configuration of that name, NULL where there is none.
CREATE OR REPLACE FUNCTION pgblend._regconfig(config_name text)
RETURNS regconfig
LANGUAGE sql
STABLE PARALLEL SAFE
STRICT
BEGIN ATOMIC
    SELECT c.oid::regconfig
    FROM pg_catalog.pg_ts_config AS c
    WHERE c.cfgname = config_name AND pg_ts_config_is_visible(c.oid);
END;

COMMENT ON FUNCTION pgblend._regconfig(text) IS
'The visible text search configuration of that name, NULL where there is none.';
