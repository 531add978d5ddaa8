-- _check_text_search_config: raise unless there is a text search configuration of that name.
CREATE OR REPLACE FUNCTION pgblend._check_text_search_config(config_name text)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    IF pgblend._regconfig(config_name) IS NULL THEN
        RAISE EXCEPTION 'there is no text search configuration %',
            coalesce('"' || left(config_name, 200) || '"', 'NULL')
            USING ERRCODE = '22023',
            HINT = 'SELECT cfgname FROM pg_ts_config: english, german, simple, …';
    END IF;
END;
$function$;
