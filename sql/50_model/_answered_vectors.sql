-- _answered_vectors: the vectors in the gateway's answer, one a text in their order.
-- `answer` is OpenAI's: {"data": [{"index", "embedding"}, …]}. With a space they have its size. An
-- answer with other than one vector of one size for each text is an error (PB008).
CREATE OR REPLACE FUNCTION pgblend._answered_vectors(
    answer jsonb,
    text_count integer,
    space pgblend_data.embedding_space
)
RETURNS vector[]
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    vectors vector[];
    embedding vector;
    is_it CONSTANT text := 'Is gateway_url the address of a model gateway?';
BEGIN
    BEGIN
        SELECT array_agg((e.value ->> 'embedding')::vector
            ORDER BY (e.value ->> 'index')::integer, e.place)
        INTO vectors
        FROM jsonb_array_elements(answer -> 'data') WITH ORDINALITY AS e (value, place);
    EXCEPTION WHEN data_exception THEN
        RAISE EXCEPTION 'the gateway''s answer has no vectors: %', left(SQLERRM, 200)
            USING ERRCODE = 'PB008', HINT = is_it;
    END;
    IF cardinality(vectors) IS DISTINCT FROM text_count THEN
        RAISE EXCEPTION 'the gateway gave % vectors for % texts',
            coalesce(cardinality(vectors), 0), text_count
            USING ERRCODE = 'PB008', HINT = is_it;
    END IF;
    FOREACH embedding IN ARRAY vectors LOOP
        IF embedding IS NULL THEN
            RAISE EXCEPTION 'the gateway''s answer lacks a vector'
                USING ERRCODE = 'PB008', HINT = is_it;
        ELSIF vector_dims(embedding) <> coalesce(space.dimensions, vector_dims(vectors[1])) THEN
            RAISE EXCEPTION 'the gateway gave % dimensions%', vector_dims(embedding), CASE
                WHEN space.name IS NULL
                    THEN format(' and %s in one answer', vector_dims(vectors[1]))
                ELSE format(' for model "%s", embedding space "%s" holds %s',
                    space.model, space.name, space.dimensions) END
                USING ERRCODE = 'PB008',
                HINT = 'The model behind the name has changed: make a new embedding space for it.';
        END IF;
    END LOOP;
    RETURN vectors;
END;
$function$;

COMMENT ON FUNCTION pgblend._answered_vectors(jsonb, integer, pgblend_data.embedding_space) IS
'The vectors in the gateway''s answer, one a text in their order, of the space''s size; PB008 '
'where they are not there.';
