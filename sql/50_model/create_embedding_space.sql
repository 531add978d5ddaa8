-- create_embedding_space: register a model's vectors: a table, an HNSW index and a queue of all
-- chunks; returns the dimensions.
-- The model is asked for one vector through the gateway: it tells the dimensions, which must be the
-- given ones, and what it gives is kept to know the model again. Where the caller brings the
-- vectors, probe => false asks nothing, and dimensions must be given. An active space takes the
-- place of the one that was. storage binary indexes one bit a dimension and re-scores by the stored
-- halfvec. A name in use, a wrong name, storage or number of dimensions, and a gateway that fails
-- are errors. NULL for active and probe means true. For members of pgblend_admin.
CREATE OR REPLACE FUNCTION blend.create_embedding_space(
    name text,
    model text,
    dimensions integer DEFAULT NULL,
    storage text DEFAULT 'vector',
    active boolean DEFAULT true,
    probe boolean DEFAULT true
)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    table_name name := 'embedding_' || create_embedding_space.name;
    probed real[];
    advice text;
BEGIN
    PERFORM pgblend._check_space(
        create_embedding_space.name, create_embedding_space.model,
        create_embedding_space.dimensions, create_embedding_space.storage);
    IF coalesce(create_embedding_space.probe, true) THEN
        BEGIN  -- a gateway just started loads its model first, hence so long
            probed := pgblend._probe_model(create_embedding_space.model, 60000);
        EXCEPTION WHEN SQLSTATE 'PB008' THEN
            GET STACKED DIAGNOSTICS advice = PG_EXCEPTION_HINT;
            RAISE EXCEPTION '%', SQLERRM USING ERRCODE = 'PB008', HINT = concat_ws(
                E'\n', advice, 'Where you bring the vectors: give dimensions and probe => false.');
        END;
        create_embedding_space.dimensions := coalesce(
            create_embedding_space.dimensions, cardinality(probed));
        PERFORM pgblend._check_space(
            create_embedding_space.name, create_embedding_space.model,
            create_embedding_space.dimensions, create_embedding_space.storage);
    ELSIF create_embedding_space.dimensions IS NULL THEN
        RAISE EXCEPTION 'dimensions is NULL: expected a number where the model is not asked'
            USING ERRCODE = '22023', HINT = 'Give it, or leave probe out to have the model say it.';
    END IF;
    IF coalesce(create_embedding_space.active, true) THEN
        UPDATE pgblend_data.embedding_space AS s SET active = false WHERE s.active;
    END IF;
    INSERT INTO pgblend_data.embedding_space (name, model, dimensions, storage, active, table_name)
    VALUES (
        create_embedding_space.name, create_embedding_space.model,
        create_embedding_space.dimensions, create_embedding_space.storage,
        coalesce(create_embedding_space.active, true), table_name);
    PERFORM pgblend._note_probe(create_embedding_space.name, probed);
    -- From here on no other session writes chunks (the table refers to them), so none is missed.
    PERFORM pgblend._create_embedding_table(create_embedding_space.name);
    INSERT INTO pgblend_data.embedding_queue (space, chunk_id, document_id, collection_id, bucket)
    SELECT create_embedding_space.name, c.id, c.document_id, c.collection_id, c.bucket
    FROM pgblend_data.chunk AS c;
    PERFORM pgblend._wake_workers();
    RETURN create_embedding_space.dimensions;
END;
$function$;
