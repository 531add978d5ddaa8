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

-- _request_model: the answer of the gateway for a task: embed, expand, hyde, rerank or answer.
-- Runs with its owner's rights, so that callers reach the gateway without choosing its address,
-- path or model (_model_request). For that its search_path holds nothing that others can write to.
-- Gives {"answer"} or {"problem", "hint"}; to a stage of a search, whose request is only sent,
-- {"call": uuid} or {"problem", "hint"}.
CREATE OR REPLACE FUNCTION pgblend._request_model(
    task text,
    input jsonb,
    space text DEFAULT NULL,
    timeout_ms integer DEFAULT NULL
)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
COST 100000
AS $function$
DECLARE
    asked jsonb := pgblend._model_request(task, input, space, timeout_ms);
BEGIN
    RETURN CASE WHEN asked ? 'problem' THEN asked ELSE pgblend._post_to_gateway(
        asked || jsonb_build_object('data_directory', current_setting('data_directory'))) END;
END;
$function$;

-- _model_request: what is sent to the gateway for a task (_gateway_request); else {"problem",
-- "hint"}.
-- The model of embed is that of the space named, of the others a setting's. `input` is what the
-- model is asked; a space made so asks for its dimensions too. A NULL timeout_ms means the setting
-- timeouts_ms. No model is asked where callers bring a space's vectors, those of queries too. The
-- program outside sends it by itself. There is nothing in it that readers may not see elsewhere.
CREATE OR REPLACE FUNCTION pgblend._model_request(
    task text,
    input jsonb,
    space text,
    timeout_ms integer
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    setting_name text := CASE task WHEN 'embed' THEN 'embedding_model'
        WHEN 'rerank' THEN 'rerank_model' WHEN 'answer' THEN 'answer_model' ELSE 'expansion_model' END;
    target pgblend_data.embedding_space;
    model text;
    body jsonb;
BEGIN
    SELECT s.* INTO target FROM pgblend_data.embedding_space AS s
    WHERE task = 'embed' AND s.name = space;
    IF NOT target.asks_model THEN
        RETURN jsonb_build_object(
            'problem', format('callers bring the vectors of embedding space "%s"', space),
            'hint', 'Give query_embedding, or search another space (the setting space).');
    END IF;
    model := coalesce(target.model, blend.get_setting(setting_name) #>> '{}');
    IF model IS NULL THEN
        RETURN jsonb_build_object(
            'problem', 'no model is set for it',
            'hint', format('name one: pgblend config set %s MODEL', setting_name));
    END IF;
    timeout_ms := coalesce(timeout_ms, (blend.get_setting('timeouts_ms')
        ->> CASE task WHEN 'hyde' THEN 'expand' ELSE task END)::numeric);
    body := input || jsonb_build_object('model', model) || CASE
        WHEN task IN ('expand', 'hyde') THEN jsonb_build_object('timeout_ms', timeout_ms)
        ELSE '{}' END || CASE
        WHEN target.asked_dimensions IS NULL THEN '{}'
        ELSE jsonb_build_object('dimensions', target.asked_dimensions) END;
    RETURN pgblend._gateway_request(
        CASE task WHEN 'embed' THEN '/v1/embeddings' WHEN 'expand' THEN '/v1/expand'
            WHEN 'hyde' THEN '/v1/hyde' WHEN 'rerank' THEN '/v1/rerank'
            WHEN 'answer' THEN '/v1/chat/completions' END,
        body, timeout_ms);
END;
$function$;

-- _gateway_request: what _post_to_gateway needs for a call: {"url", "path", "body", "timeout_ms",
-- "most_bytes", "places", "role", "database"}; "data_directory" is added where it is known.
-- The address is the setting gateway_url, null where there is none; `places` is model_calls.
CREATE OR REPLACE FUNCTION pgblend._gateway_request(path text, body jsonb, timeout_ms integer)
RETURNS jsonb
LANGUAGE sql
STABLE PARALLEL UNSAFE
RETURN jsonb_build_object(
    'url', blend.get_setting('gateway_url'),
    'path', path,
    'body', body::text,
    'timeout_ms', timeout_ms,
    'most_bytes', blend.get_setting('limits') -> 'answer_bytes',
    'places', blend.get_setting('model_calls'),
    'role', (
        SELECT r.oid FROM pg_catalog.pg_roles AS r
        WHERE r.rolname = pgblend._asking_role()
    ),
    'database', (
        SELECT d.oid FROM pg_catalog.pg_database AS d
        WHERE d.datname = current_database()
    )
);

-- _post_to_gateway: POST a JSON text to the gateway; {"answer": …} or {"problem": text, "hint":
-- text}.
-- `request` has url, path, body (a text), timeout_ms, places (the setting model_calls),
-- data_directory, role and database (their numbers). The token comes from the server's environment
-- (PGBLEND_GATEWAY_TOKEN) or from the file pgblend_gateway_token in that directory (mode 0600).
-- Ends within timeout_ms, and within 20 ms of a cancel, statement_timeout or terminate. Problems
-- are returned, since an error raised here would be prefixed with "plpy.Error". So is that the
-- session leaves a gateway alone for a while: one that was late three times in a row. The request
-- of a search's stage, which notes so where SQL cannot, is only sent. Its call stands in GD under
-- the uuid that comes back as "call".
CREATE OR REPLACE FUNCTION pgblend._post_to_gateway(request jsonb)
RETURNS jsonb
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
STRICT
COST 100000
AS $python$
import json
from uuid import uuid4
from pgblend.plpy.models.gateway import NO_GATEWAY, GatewayCall
from pgblend.plpy.base.session import BEGUN

asked = json.loads(request)
if asked["url"] is None:
    return json.dumps(NO_GATEWAY)
call = GatewayCall(db, asked)
if db.kept(BEGUN).pop(BEGUN, False):
    key = str(uuid4())
    db.kept("calls")[key] = call
    return json.dumps({"call": key})
return json.dumps(call.answer())
$python$;

-- _mask_secrets: a message of a gateway or a model, with *** for what looks like a key.
-- What follows the first 20,000 characters is cut off. NULL for NULL.
CREATE OR REPLACE FUNCTION pgblend._mask_secrets(message text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.models.outcome import mask_secrets

return mask_secrets(message)
$python$;
