-- _check_settings: raise for the first setting that is unknown, out of scope, of a wrong type or
-- out of range.
-- NULL and {} are right. `place` names where the settings were given, for the message.
CREATE OR REPLACE FUNCTION pgblend._check_settings(settings jsonb, scopes text[], place text)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    setting record;
    rule jsonb;
    problem text;
BEGIN
    IF settings IS NULL OR settings = '{}' THEN
        RETURN;
    ELSIF jsonb_typeof(settings) <> 'object' THEN
        RAISE EXCEPTION '% is %: expected a JSON object', place, left(settings::text, 200)
            USING ERRCODE = '22023', HINT = 'For example: {"candidate_depth": 200}';
    END IF;
    FOR setting IN
        SELECT e.key, e.value FROM jsonb_each(settings) AS e ORDER BY e.key COLLATE "C"
    LOOP
        rule := pgblend._setting_rules() -> setting.key;
        IF rule IS NULL OR rule ->> 'scope' <> ALL(scopes) THEN
            RAISE EXCEPTION '% has no setting "%"', place, left(setting.key, 200)
                USING ERRCODE = '22023', HINT = format('Known are: %s', (
                    SELECT string_agg(c.name, ', ' ORDER BY c.name)
                    FROM blend.setting_catalog() AS c WHERE c.scope = ANY(scopes)));
        END IF;
        problem := pgblend._setting_error(
            setting.value, rule ->> 'value_type', (rule ->> 'minimum')::double precision,
            (rule ->> 'maximum')::double precision, (rule ->> 'allowed_values')::text[]);
        IF problem IS NOT NULL THEN
            RAISE EXCEPTION '%: "%" is %: %',
                place, setting.key, left(setting.value::text, 200), problem
                USING ERRCODE = '22023', HINT = format(
                    'SELECT * FROM blend.setting_catalog() WHERE name = ''%s''', setting.key);
        END IF;
    END LOOP;
END;
$function$;
