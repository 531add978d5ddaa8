-- _model_answer: what the gateway answers for a task, or an error (PB008) that says what is wrong.
-- A time limit below 1 ms is an error, NULL the setting timeouts_ms.
CREATE OR REPLACE FUNCTION pgblend._model_answer(
    task text,
    input jsonb,
    space text DEFAULT NULL,
    timeout_ms integer DEFAULT NULL
)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
AS $function$
DECLARE
    outcome jsonb;
BEGIN
    IF timeout_ms < 1 THEN
        RAISE EXCEPTION 'timeout_ms is %: expected at least 1', timeout_ms
            USING ERRCODE = '22023', HINT = 'NULL means the setting timeouts_ms.';
    END IF;
    outcome := pgblend._request_model(task, input, space, timeout_ms);
    IF outcome ? 'problem' THEN
        RAISE EXCEPTION '%', outcome ->> 'problem'
            USING ERRCODE = 'PB008', HINT = outcome ->> 'hint';
    END IF;
    RETURN outcome -> 'answer';
END;
$function$;
