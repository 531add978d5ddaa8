-- _model_answer: what the gateway answers for a task, or an error (PB008) that says what is wrong.
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
    outcome jsonb := pgblend._request_model(task, input, space, timeout_ms);
BEGIN
    IF outcome ? 'problem' THEN
        RAISE EXCEPTION '%', outcome ->> 'problem'
            USING ERRCODE = 'PB008', HINT = outcome ->> 'hint';
    END IF;
    RETURN outcome -> 'answer';
END;
$function$;
