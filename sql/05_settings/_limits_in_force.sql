-- _limits_in_force: the setting limits, as one look into the table gives it.
CREATE OR REPLACE FUNCTION pgblend._limits_in_force()
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    RETURN pgblend._setting_in_force(
        pgblend._setting_defaults('server') -> 'limits',
        (SELECT nullif(s.value, 'null') FROM pgblend_data.setting AS s WHERE s.name = 'limits'));
END;
$function$;
