-- _query_embedding: the vector of a query in the active space: the caller's, else the gateway's.
-- Never raises for a missing space, vector or gateway: `problem` says what is missing, `hint` what
-- to do, and embedding is NULL. A given vector of the wrong size, or the zero vector, is the
-- caller's mistake and raises.
CREATE OR REPLACE FUNCTION pgblend._query_embedding(
    query text,
    given vector,
    space pgblend_data.embedding_space,
    timeout_ms integer,
    OUT embedding vector,
    OUT problem text,
    OUT problem_code text,
    OUT hint text
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    IF space.name IS NULL THEN
        problem := 'no embedding space yet';
        problem_code := 'PB001';
        hint := 'pgblend ingest makes and fills one where a model gateway runs';
    ELSIF given IS NOT NULL THEN
        IF vector_dims(given) <> space.dimensions THEN
            RAISE EXCEPTION 'query_embedding has % dimensions, embedding space "%" holds %',
                vector_dims(given), space.name, space.dimensions
                USING ERRCODE = '22023',
                HINT = format('Embed the query with the model "%s".', space.model);
        ELSIF vector_norm(given) = 0 THEN
            RAISE EXCEPTION 'query_embedding is the zero vector, which has no direction'
                USING ERRCODE = '22023', HINT = 'Leave it NULL to have the query embedded.';
        END IF;
        embedding := given;
    ELSE
        embedding := (pgblend.embed_text(ARRAY[query], space.name, timeout_ms))[1];
    END IF;
EXCEPTION WHEN SQLSTATE 'PB008' THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
    problem := SQLERRM;
    problem_code := 'PB008';
END;
$function$;

COMMENT ON FUNCTION pgblend._query_embedding(text, vector, pgblend_data.embedding_space, integer) IS
'The vector of a query in the active space: the caller''s, else the gateway''s; where there is '
'none, what the problem is.';
