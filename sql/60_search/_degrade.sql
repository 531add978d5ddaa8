-- _degrade: note that a search goes on without a stage: a WARNING, and the text for `degraded`.
-- With the setting strict it is an error, with the SQLSTATE given. The hint says what to do; it
-- follows as a sentence of its own where the problem is one, else after a semicolon.
CREATE OR REPLACE FUNCTION pgblend._degrade(
    stage text,
    problem text,
    problem_code text,
    hint text,
    settings jsonb
)
RETURNS text[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    reason text := concat_ws(CASE WHEN problem ~ '[.!?]$' THEN ' ' ELSE '; ' END, problem, hint);
BEGIN
    IF (settings ->> 'strict')::boolean THEN
        RAISE EXCEPTION '%: %', stage, problem
            USING ERRCODE = problem_code, HINT = 'Leave out the option strict to go on without it.';
    END IF;
    RAISE WARNING 'searching without the % %: %', stage,
        CASE WHEN stage IN ('lexical', 'vector', 'fuzzy') THEN 'arm' ELSE 'stage' END, reason;
    RETURN ARRAY[format('%s: %s', stage, reason)];
END;
$function$;
