-- _degrade_mode: note the stages that the mode given in a call asks for and cannot have.
-- `missing` is what _missing_stages gives. With the setting strict it is an error (PB010).
CREATE OR REPLACE FUNCTION pgblend._degrade_mode(missing jsonb, settings jsonb)
RETURNS text[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    degraded text[] := '{}';
    stage record;
BEGIN
    FOR stage IN SELECT s.key AS name, s.value AS problem FROM jsonb_each_text(missing) AS s LOOP
        degraded := degraded || pgblend._degrade(
            stage.name, stage.problem, 'PB010', 'the mode fast does without', settings);
    END LOOP;
    RETURN degraded;
END;
$function$;

COMMENT ON FUNCTION pgblend._degrade_mode(jsonb, jsonb) IS
'Note the stages that the mode given in a call asks for and cannot have; with strict raise PB010.';
