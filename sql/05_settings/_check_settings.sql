-- _check_settings: raise for the first setting that is unknown, out of scope, of a wrong type or
-- out of range.
-- NULL and {} are right. `place` names where the settings were given, for the message.
CREATE OR REPLACE FUNCTION pgblend._check_settings(settings jsonb, scopes text[], place text)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    wrong record;
BEGIN
    IF settings IS NULL OR settings = '{}' THEN
        RETURN;
    ELSIF jsonb_typeof(settings) <> 'object' THEN
        RAISE EXCEPTION '% is %: expected a JSON object', place, left(settings::text, 200)
            USING ERRCODE = '22023', HINT = 'For example: {"candidate_depth": 200}';
    END IF;
    SELECT e.key, e.value, c.name, found.problem
    INTO wrong
    FROM jsonb_each(settings) AS e
    LEFT JOIN pgblend.setting_catalog() AS c ON c.name = e.key AND c.scope = ANY(scopes)
    CROSS JOIN LATERAL (
        SELECT pgblend._setting_error(
            e.value, c.value_type, c.minimum, c.maximum, c.allowed_values) AS problem
        OFFSET 0  -- computed once
    ) AS found
    WHERE c.name IS NULL OR found.problem IS NOT NULL
    ORDER BY e.key COLLATE "C"
    LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    ELSIF wrong.name IS NULL THEN
        RAISE EXCEPTION '% has no setting "%"', place, left(wrong.key, 200)
            USING ERRCODE = '22023', HINT = format('Known are: %s', (
                SELECT string_agg(c.name, ', ' ORDER BY c.name)
                FROM pgblend.setting_catalog() AS c WHERE c.scope = ANY(scopes)));
    END IF;
    RAISE EXCEPTION '%: "%" is %: %', place, wrong.key, left(wrong.value::text, 200), wrong.problem
        USING ERRCODE = '22023',
        HINT = format('SELECT * FROM pgblend.setting_catalog() WHERE name = ''%s''', wrong.name);
END;
$function$;

COMMENT ON FUNCTION pgblend._check_settings(jsonb, text[], text) IS
'Raise 22023 for the first setting that is unknown, out of scope, of a wrong type or out of range.';
