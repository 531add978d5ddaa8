-- _answer_reply: what the answer model says to a question: {"model", "text", "finish_reason"}.
-- NULL where there are no passages. PB008 where no model is set, the gateway fails, or its answer
-- is no chat completion.
CREATE OR REPLACE FUNCTION pgblend._answer_reply(passages jsonb, settings jsonb)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
AS $function$
DECLARE
    answer jsonb;
BEGIN
    IF passages -> 'parts' = '[]' THEN
        RETURN NULL;
    END IF;
    answer := pgblend._model_answer(
        'answer',
        jsonb_build_object(
            'messages', passages -> 'messages',
            'max_tokens', settings -> 'answer_tokens',
            'temperature', 0),
        timeout_ms => (settings #>> '{timeouts_ms,answer}')::numeric::integer);
    IF jsonb_typeof(answer #> '{choices,0,message,content}') IS DISTINCT FROM 'string' THEN
        RAISE EXCEPTION 'the gateway''s answer is no chat completion: %',
            left(pgblend._mask_secrets(answer::text), 200)
            USING ERRCODE = 'PB008', HINT = 'Is gateway_url the address of a model gateway?';
    ELSIF btrim(answer #>> '{choices,0,message,content}', E' \t\r\n') = '' THEN
        RAISE EXCEPTION 'the model said nothing'
            USING ERRCODE = 'PB008', HINT = 'Ask again, or set another answer_model.';
    END IF;
    RETURN jsonb_build_object(
        'model', coalesce(answer ->> 'model', blend.get_setting('answer_model') #>> '{}'),
        'text', answer #> '{choices,0,message,content}',
        'finish_reason', answer #> '{choices,0,finish_reason}');
END;
$function$;
