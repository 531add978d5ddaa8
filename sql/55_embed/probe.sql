-- probe_embedding_space: ask the model of a space for one vector and compare it with the first one.
-- likeness is the cosine of their beginnings: 1 for the same model, NULL where the space was made
-- without asking. An unknown space gives no row; PB008 where the gateway fails. For members of
-- pgblend_admin.
CREATE OR REPLACE FUNCTION blend.probe_embedding_space(space text)
RETURNS TABLE (
    model text,
    expected_dimensions integer,
    dimensions integer,
    likeness double precision
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
COST 100000
AS $function$
BEGIN
    RETURN QUERY
    SELECT s.model, s.dimensions, cardinality(g.given), CASE
        WHEN cardinality(s.probe) = cardinality(pgblend._probe_start(g.given))
            THEN 1 - (s.probe::vector <=> pgblend._probe_start(g.given)::vector) END
    FROM pgblend_data.embedding_space AS s
    CROSS JOIN LATERAL (
        SELECT pgblend._probe_model(s.model, 60000, s.asked_dimensions) AS given OFFSET 0) AS g
    WHERE s.name = space;
END;
$function$;

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
        timeout_ms) || jsonb_build_object('data_directory', (
            -- NULL for an owner who may not know it: there the program is outside, and has its own.
            SELECT s.setting FROM pg_catalog.pg_settings AS s WHERE s.name = 'data_directory')));
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

-- _probe_text: the text that a model is asked about, to know it again.
CREATE OR REPLACE FUNCTION pgblend._probe_text()
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN 'How many dimensions has a vector of this model?';

-- _note_probe: store what a space's model answered to the probe text, to know the model again.
-- A vector of another size than the space's is an error. NULL stores nothing.
-- Runs with its owner's rights, since nobody else writes the registry; only admins may call it.
CREATE OR REPLACE FUNCTION pgblend._note_probe(space text, embedding real[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    target pgblend_data.embedding_space;
BEGIN
    IF embedding IS NULL THEN
        RETURN;
    END IF;
    UPDATE pgblend_data.embedding_space AS s
    SET probe = pgblend._probe_start(embedding), probed_at = now()
    WHERE s.name = space
    RETURNING s.* INTO target;
    IF target.dimensions <> cardinality(embedding) THEN
        RAISE EXCEPTION 'model "%" gives vectors of % dimensions, not of %',
            target.model, cardinality(embedding), target.dimensions
            USING ERRCODE = '22023', HINT = 'Leave dimensions out to take those of the model.';
    END IF;
END;
$function$;

-- _probe_start: the first 32 numbers of a vector of length 1: enough to know its model again.
-- NULL for NULL; a zero vector stays zero.
CREATE OR REPLACE FUNCTION pgblend._probe_start(embedding real[])
RETURNS real[]
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN (l2_normalize(embedding::vector)::real[])[1:32];
