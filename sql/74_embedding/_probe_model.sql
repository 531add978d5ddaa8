-- _probe_text: the text that a model is asked about, to know it again.
CREATE OR REPLACE FUNCTION pgblend._probe_text()
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN 'How many dimensions has a vector of this model?';

-- _probe_model: the vector that a model gives for the probe text, asked through the gateway.
-- NULL dimensions ask for what the model gives by itself. PB008 where the gateway fails or its
-- answer holds no vector. Runs with its owner's rights, like
-- _request_model; only admins may call it, who choose the models anyway.
CREATE OR REPLACE FUNCTION pgblend._probe_model(
    model text,
    timeout_ms integer,
    dimensions integer DEFAULT NULL
)
RETURNS real[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
COST 100000
AS $function$
DECLARE
    outcome jsonb := pgblend._post_to_gateway(pgblend._gateway_request(
        '/v1/embeddings',
        jsonb_strip_nulls(jsonb_build_object(
            'model', model, 'input', jsonb_build_array(pgblend._probe_text()),
            'dimensions', dimensions)),
        timeout_ms));
BEGIN
    IF outcome ? 'answer' THEN
        outcome := pgblend._checked_vectors(outcome -> 'answer', 1, NULL);
    END IF;
    IF outcome ? 'problem' THEN
        RAISE EXCEPTION '%', outcome ->> 'problem'
            USING ERRCODE = 'PB008', HINT = outcome ->> 'hint';
    END IF;
    RETURN ARRAY(
        SELECT e.value::real
        FROM jsonb_array_elements_text(outcome #> '{vectors,0}') WITH ORDINALITY AS e (value, place)
        ORDER BY e.place);
END;
$function$;
