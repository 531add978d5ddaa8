-- _answer_messages: the messages that ask a chat model to answer from passages, as a JSON array.
-- `parts` are those of _ask_passages.
CREATE OR REPLACE FUNCTION pgblend._answer_messages(query text, parts jsonb)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.context.prompt import answer_messages

return json.dumps(answer_messages(query, json.loads(parts)))
$python$;

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
            'messages', pgblend._answer_messages(passages ->> 'query', passages -> 'parts'),
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
