-- _queue_all: queue all chunks for a new space, and wake the workers.
CREATE OR REPLACE FUNCTION pgblend._queue_all(space text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM blend.queue_missing_vectors(space);
    PERFORM pgblend._wake_workers();
END;
$function$;

-- create_embedding_space: register a model's vectors: make a table, an HNSW index and a queue of
-- all chunks; returns the dimensions.
-- The model gives one vector through the gateway, and its beginning is kept to know the model
-- again. Where dimensions are given and it gives others by itself, it is asked for so many from
-- then on, as models with vectors that may be shortened allow; a model that gives others is an
-- error. probe => false asks nothing now, and dimensions must be given. So must they with
-- brings_vectors: callers store the vectors and give query_embedding, no model is ever asked, and
-- no chunk waits. A new active space takes the place of the old one. storage auto is the first of
-- vector, halfvec and binary that has room for the dimensions, and whose index of the chunks there
-- are the server's memory holds; binary indexes one bit a dimension and re-scores by the stored
-- halfvec. A name in use, a wrong name, storage or number of dimensions, and a gateway that fails
-- are errors. NULL for active and probe means true, for brings_vectors false. For members of
-- pgblend_admin.
CREATE OR REPLACE FUNCTION blend.create_embedding_space(
    name text,
    model text,
    dimensions integer DEFAULT NULL,
    storage text DEFAULT 'auto',
    active boolean DEFAULT true,
    probe boolean DEFAULT true,
    brings_vectors boolean DEFAULT false
)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    probed real[];
    asked integer;
    advice text;
BEGIN
    PERFORM pgblend._check_space(name, model, dimensions, storage);
    IF coalesce(probe, true) AND NOT coalesce(brings_vectors, false) THEN
        BEGIN  -- a gateway just started loads its model first, hence so long
            probed := pgblend._probe_model(model, 60000);
            IF dimensions <> cardinality(probed) THEN
                asked := dimensions;
                probed := pgblend._probe_model(model, 60000, dimensions);
            END IF;
        EXCEPTION WHEN SQLSTATE 'PB008' THEN
            GET STACKED DIAGNOSTICS advice = PG_EXCEPTION_HINT;
            RAISE EXCEPTION '%', SQLERRM USING ERRCODE = 'PB008', HINT = concat_ws(
                E'\n', advice, 'Without asking: give dimensions and probe => false, or '
                    'brings_vectors => true where you bring the vectors.');
        END;
        dimensions := coalesce(dimensions, cardinality(probed));
        PERFORM pgblend._check_space(name, model, dimensions, storage);
    ELSIF dimensions IS NULL THEN
        RAISE EXCEPTION 'dimensions is NULL: expected a number where the model is not asked'
            USING ERRCODE = '22023', HINT = 'Give it, or leave probe out to have the model say it.';
    END IF;
    IF storage = 'auto' THEN
        SELECT s.storage INTO storage
        FROM pgblend._storages(pgblend._most_chunks(), dimensions) AS s
        WHERE s.fits ORDER BY s.most_dimensions LIMIT 1;
    END IF;
    PERFORM pgblend._keep_space(
        name, model, dimensions, storage, coalesce(active, true),
        coalesce(brings_vectors, false), asked, NOT coalesce(brings_vectors, false));
    PERFORM pgblend._note_probe(name, probed);
    IF NOT coalesce(brings_vectors, false) THEN
        PERFORM pgblend._queue_all(name);
    END IF;
    RETURN dimensions;
END;
$function$;
