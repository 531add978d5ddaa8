-- _tell_vectors: tell what came of the vectors of an attached table's rows: once it is filled which
-- have none, and how many rows are longer than a passage; with probe whether they are of the model.
-- A table whose vectors are of another model is an error. Without vectors in rows nothing is told.
CREATE OR REPLACE FUNCTION pgblend._tell_vectors(
    attached pgblend_data.attached_table,
    filled boolean,
    probe boolean
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    told record;
    found record;
BEGIN
    IF attached.space IS NULL THEN
        RETURN;
    END IF;
    SELECT v.* INTO told FROM blend.attached_vectors() AS v
    WHERE v.table_name = attached.table_name;
    IF filled AND told.without_vector > 0 THEN
        RAISE WARNING '% of % rows of % have no vector: %', told.without_vector, told.rows,
            attached.relation, told.examples
            USING HINT = 'They are found by their words; a vector that comes later is taken over.';
    END IF;
    IF filled AND told.long_rows > 0 THEN
        RAISE NOTICE '% of % rows of % are longer than a passage: the first passage of each has the '
            'vector of its row', told.long_rows, told.rows, attached.relation
            USING HINT = CASE WHEN attached.embed_long_rows THEN 'The others wait for the model.'
                ELSE 'The others are found by their words; embed_long_rows => true has the model '
                    'embed them.' END;
    END IF;
    IF NOT probe THEN
        RETURN;
    END IF;
    BEGIN
        SELECT p.* INTO found FROM blend.probe_attached_table(attached.table_name) AS p;
    EXCEPTION WHEN SQLSTATE 'PB008' THEN
        RAISE WARNING 'the vectors of % were not compared with those of the model: %',
            attached.relation, SQLERRM
            USING HINT = format('Once the gateway runs: SELECT * FROM probe_attached_table(%L)',
                attached.table_name);
        RETURN;
    END;
    IF NOT found.same_model THEN
        RAISE EXCEPTION 'the vectors of % are not of the model "%": of % rows, the model gives % a '
            'vector that is nearest to the row''s own, and the median cosine is %',
            attached.relation, found.model, found.compared, found.nearest,
            round(found.likeness::numeric, 2)
            USING ERRCODE = '22023',
            HINT = 'Name the model that made them (embedding_model => …). Were they made of other '
                'texts than text_columns, probe => false compares nothing.';
    END IF;
END;
$function$;
