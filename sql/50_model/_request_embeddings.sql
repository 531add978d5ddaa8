-- _request_embeddings: the gateway's answer for texts in the model of a space: [{"index",
-- "embedding"}, …].
-- Runs with its owner's rights, so that callers reach the gateway without choosing its address,
-- path or model; for that its search_path holds nothing that others can write to. A NULL space
-- stands for the model of the setting embedding_model.
CREATE OR REPLACE FUNCTION pgblend._request_embeddings(
    texts text[],
    space text,
    timeout_ms integer
)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
COST 100000
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    model text;
BEGIN
    SELECT s.model INTO model FROM pgblend_data.embedding_space AS s WHERE s.name = space;
    RETURN pgblend._call_gateway(
        '/v1/embeddings',
        jsonb_build_object(
            'model', coalesce(model, pgblend.get_setting('embedding_model') #>> '{}'),
            'input', texts),
        coalesce(timeout_ms, (pgblend.get_setting('timeouts_ms') ->> 'embed')::numeric::integer)
    ) -> 'data';
END;
$function$;

COMMENT ON FUNCTION pgblend._request_embeddings(text[], text, integer) IS
'The gateway''s answer for texts in the model of a space: [{"index", "embedding"}, …].';
