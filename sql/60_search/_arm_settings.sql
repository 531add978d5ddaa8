-- _arm_settings: what a search by one arm puts over its settings; nothing for a NULL arm.
CREATE OR REPLACE FUNCTION pgblend._arm_settings(arm text)
RETURNS jsonb
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    IF arm IS NULL THEN
        RETURN '{}';
    END IF;
    RETURN jsonb_build_object(
        'weights',
        '{"lexical": 0, "vector": 0, "fuzzy": 0}'::jsonb || jsonb_build_object(arm, 1),
        'graph', '{"weight": 0}'::jsonb,
        'fuzzy', CASE WHEN arm = 'fuzzy' THEN 'on' ELSE 'off' END);
END;
$function$;
