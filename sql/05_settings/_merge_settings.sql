-- _merge_settings: settings in force with those of a stronger layer over them.
-- What is JSON null in the layer was not given; names that are not in force are left out. A NULL
-- layer changes nothing.
CREATE OR REPLACE FUNCTION pgblend._merge_settings(in_force jsonb, layer jsonb)
RETURNS jsonb
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    IF layer IS NULL OR layer = '{}' THEN
        RETURN in_force;
    END IF;
    RETURN in_force || coalesce((
        SELECT jsonb_object_agg(
            e.key, pgblend._setting_in_force(in_force -> e.key, e.value))
        FROM jsonb_each(layer) AS e
        WHERE e.value <> 'null' AND in_force ? e.key), '{}');
END;
$function$;
