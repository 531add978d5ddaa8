-- _probe_model: the vector that a model gives for the probe text, asked through the gateway.
-- PB008 where the gateway fails or its answer holds no vector. Runs with its owner's rights, like
-- _request_model; only admins may call it, who choose the models anyway.
CREATE OR REPLACE FUNCTION pgblend._probe_model(model text, timeout_ms integer)
RETURNS real[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
COST 100000
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    answer jsonb := pgblend._call_gateway(
        '/v1/embeddings',
        jsonb_build_object('model', model, 'input', jsonb_build_array(pgblend._probe_text())),
        timeout_ms);
    checked jsonb := pgblend._checked_vectors(answer, 1, NULL);
BEGIN
    IF checked ? 'problem' THEN
        RAISE EXCEPTION '%', checked ->> 'problem'
            USING ERRCODE = 'PB008', HINT = checked ->> 'hint';
    END IF;
    RETURN ARRAY(
        SELECT e.value::real
        FROM jsonb_array_elements_text(checked #> '{vectors,0}') WITH ORDINALITY AS e (value, place)
        ORDER BY e.place);
END;
$function$;
