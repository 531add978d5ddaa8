-- _degrade_mode: note the stages that a call asks for and that have no model.
-- `missing` is what _missing_stages gives; a call asks by the options mode, expand and rerank. With
-- the setting strict it is an error (PB010).
CREATE OR REPLACE FUNCTION pgblend._degrade_mode(missing jsonb, options jsonb, settings jsonb)
RETURNS text[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    degraded text[] := '{}';
    stage record;
BEGIN
    FOR stage IN
        SELECT s.key AS name, s.value AS problem FROM jsonb_each_text(missing) AS s
        WHERE coalesce(options ->> 'mode', options ->> s.key) IS NOT NULL
    LOOP
        degraded := degraded || pgblend._degrade(
            stage.name, stage.problem, 'PB010', 'the mode fast does without', settings);
    END LOOP;
    RETURN degraded;
END;
$function$;
