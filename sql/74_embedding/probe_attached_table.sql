-- probe_attached_table: compare the vectors of an attached table's rows with those that the model
-- of their space gives for the same texts.
-- likeness is the median of the cosines of compared rows, at most twenty; nearest says for how many
-- the row's own vector is the nearest of all compared. same_model is false where neither speaks for
-- the model, and NULL where no row has a vector. Long rows are left out where there are others. A
-- table that is not attached, or whose rows have no vectors, is an error; PB008 where the gateway
-- fails. For members of pgblend_admin.
CREATE OR REPLACE FUNCTION blend.probe_attached_table(table_name text)
RETURNS TABLE (
    model text,
    compared integer,
    nearest integer,
    likeness double precision,
    same_model boolean
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
COST 100000
AS $function$
DECLARE
    most_rows CONSTANT integer := 20;
    patience CONSTANT integer := 10000;
    attached pgblend_data.attached_table := pgblend._attachment(table_name);
    target pgblend_data.embedding_space;
    texts text[];
    stored vector[];
    given vector[];
BEGIN
    IF attached.space IS NULL THEN
        RAISE EXCEPTION 'the rows of % have no vectors', table_name
            USING ERRCODE = '22023', HINT = 'attach_table(…, embedding_column => …)';
    END IF;
    target := pgblend._named_space(attached.space);
    -- Calls in text: none (a space's table).
    EXECUTE format(
        'SELECT array_agg(w.content ORDER BY w.chunk_id), array_agg(w.embedding ORDER BY w.chunk_id)
        FROM (
            SELECT f.*
            FROM (
                SELECT e.chunk_id, e.document_id, e.embedding::vector AS embedding, c.content
                FROM pgblend_data.%I AS e
                INNER JOIN pgblend_data.chunk AS c ON c.id = e.chunk_id
                WHERE e.collection_id = $1 AND e.chunk_index = 0
                LIMIT 10 * $2
            ) AS f
            ORDER BY EXISTS (
                SELECT FROM pgblend_data.chunk AS n
                WHERE n.document_id = f.document_id AND n.chunk_index = 1), f.chunk_id
            LIMIT $2
        ) AS w', target.table_name)
    INTO texts, stored USING attached.collection_id, most_rows;
    model := target.model;
    compared := coalesce(cardinality(texts), 0);
    given := blend.embed_text(texts, target.name, patience);
    SELECT count(*) FILTER (WHERE f.own >= f.best - 1e-6),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY f.own)
    INTO nearest, likeness
    FROM (
        SELECT max(1 - (g.embedding <=> s.embedding)) FILTER (WHERE g.place = s.place) AS own,
            max(1 - (g.embedding <=> s.embedding)) AS best
        FROM unnest(given) WITH ORDINALITY AS g (embedding, place)
        CROSS JOIN unnest(stored) WITH ORDINALITY AS s (embedding, place)
        GROUP BY g.place
    ) AS f;
    same_model := likeness >= 0.8 OR likeness >= 0.2 AND nearest * 2 > compared;
    RETURN NEXT;
END;
$function$;
