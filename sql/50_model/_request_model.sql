-- _request_model: the answer of the gateway for a task: embed, expand, hyde, rerank or answer.
-- Runs with its owner's rights, so that callers reach the gateway without choosing its address,
-- path or model. For that its search_path holds nothing that others can write to. The model of
-- embed is that of the space named, of the others a setting's. `input` is what the model is asked;
-- a space made so asks for its dimensions too. A NULL timeout_ms means the setting timeouts_ms.
-- No model is asked where callers bring a space's vectors, those of queries too. Gives {"answer"}
-- or {"problem", "hint"}; to a stage of a search, whose request is only sent, {"call": uuid} or
-- {"problem", "hint"}.
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
    RETURN pgblend._post_to_gateway(
        pgblend._gateway_request(
            CASE task WHEN 'embed' THEN '/v1/embeddings' WHEN 'expand' THEN '/v1/expand'
                WHEN 'hyde' THEN '/v1/hyde' WHEN 'rerank' THEN '/v1/rerank'
                WHEN 'answer' THEN '/v1/chat/completions' END,
            body, timeout_ms));
END;
$function$;
