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
            USING HINT = 'They are found by their words. A vector that comes later is taken over.';
    END IF;
    IF filled AND told.long_rows > 0 THEN
        RAISE NOTICE '% of % rows of % are longer than a passage: the first passage of each has the '
            'vector of its row', told.long_rows, told.rows, attached.relation
            USING HINT = CASE WHEN attached.embed_long_rows THEN 'The others wait for the model.'
                ELSE 'The others are found by their words. embed_long_rows => true has the model '
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

-- attached_vectors: the attached tables whose rows have vectors, with how many do; no rows where
-- there is no such table.
-- long_rows have more than one passage: the first has the row's vector, and the others wait for
-- the model only with embed_long_rows. examples says of three rows without a vector why: it is
-- NULL, zero in all dimensions, or of other dimensions than the space. It reads these rows, where
-- the caller may. For members of pgblend_admin.
CREATE OR REPLACE FUNCTION blend.attached_vectors()
RETURNS TABLE (
    table_name text,
    space text,
    rows bigint,
    vectors bigint,
    without_vector bigint,
    long_rows bigint,
    examples text
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
AS $function$
DECLARE
    attached record;
    target record;
BEGIN
    FOREACH attached IN ARRAY ARRAY(
        SELECT a FROM pgblend_data.attached_table AS a
        WHERE a.space IS NOT NULL ORDER BY a.table_name)
    LOOP
        table_name := attached.table_name;
        space := attached.space;
        target := pgblend._named_space(attached.space);
        -- Calls in text: none (a space's table).
        EXECUTE format(
            'SELECT count(*), count(e.chunk_id), count(*) FILTER (WHERE EXISTS (
                SELECT FROM pgblend_data.chunk AS n
                WHERE n.document_id = d.id AND n.chunk_index = 1))
            FROM pgblend_data.document AS d
            LEFT JOIN pgblend_data.chunk AS c ON c.document_id = d.id AND c.chunk_index = 0
            LEFT JOIN pgblend_data.%I AS e ON e.chunk_id = c.id
            WHERE d.collection_id = $1', target.table_name)
        INTO rows, vectors, long_rows USING attached.collection_id;
        without_vector := rows - vectors;
        examples := CASE WHEN without_vector > 0 AND (
            pgblend._attachment_queries(attached)).problem IS NULL
            THEN pgblend._without_vector(attached, target) END;
        RETURN NEXT;
    END LOOP;
END;
$function$;

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
    attached record := pgblend._attachment(table_name);
    target record;
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

-- _settle_vectors: have the passages of an attachment wait for a vector, or not, as it says now.
-- old is the attachment that it takes the place of; NULLs where there was none. What waits of a
-- table whose rows have vectors, waits no more. The vectors of another space than before go.
-- Where searches use another space, those of this collection alone use its own.
CREATE OR REPLACE FUNCTION pgblend._settle_vectors(
    attached pgblend_data.attached_table,
    old pgblend_data.attached_table
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection;
    is_active boolean;
BEGIN
    IF attached.space IS NULL AND old.space IS NULL THEN
        RETURN;
    END IF;
    IF old.space <> coalesce(attached.space, '') THEN
        -- Calls in text: none (a space's table).
        EXECUTE format(
            'DELETE FROM pgblend_data.%I AS e WHERE e.collection_id = $1',
            (pgblend._named_space(old.space)).table_name)
        USING attached.collection_id;
    END IF;
    DELETE FROM pgblend_data.embedding_queue AS q
    WHERE q.collection_id = attached.collection_id
        AND (attached.space IS NOT NULL OR q.space = old.space);
    PERFORM pgblend._queue_missing(s, attached.collection_id)
    FROM pgblend_data.embedding_space AS s
    WHERE s.asks_model
        AND pgblend._first_embedded(s, attached.collection_id) IS NOT NULL;
    PERFORM pgblend._wake_workers();
    SELECT c.* INTO STRICT target FROM pgblend_data.collection AS c
    WHERE c.id = attached.collection_id;
    SELECT s.active INTO is_active
    FROM pgblend_data.embedding_space AS s WHERE s.name = attached.space;
    IF NOT is_active AND NOT target.settings ? 'space' THEN
        PERFORM blend.set_collection_settings(
            target.name, jsonb_build_object('space', attached.space));
        RAISE NOTICE 'searches use another embedding space than %, whose vectors these are',
            attached.space
            USING HINT = format('Searches of the collection "%s" alone use it (its setting space). '
                'To search by it everywhere: SELECT switch_embedding_space(%L)',
                target.name, attached.space);
    ELSIF target.settings ->> 'space' = old.space
        AND old.space IS DISTINCT FROM attached.space
    THEN
        PERFORM blend.set_collection_settings(target.name, '{"space": null}');
    END IF;
END;
$function$;

-- _without_vector: why some rows of an attached table have no vector: at most three, with their
-- keys; NULL where the caller may not read the table.
CREATE OR REPLACE FUNCTION pgblend._without_vector(
    attached pgblend_data.attached_table,
    target pgblend_data.embedding_space
)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
AS $function$
DECLARE
    keys text[];
BEGIN
    IF NOT has_table_privilege(attached.relation, 'SELECT') THEN
        RETURN NULL;
    END IF;
    -- Calls in text: none (a space's table).
    EXECUTE format(
        'SELECT array_agg(w.source_key)
        FROM (
            SELECT d.source_key FROM pgblend_data.document AS d
            WHERE d.collection_id = $1 AND NOT EXISTS (
                SELECT FROM pgblend_data.%I AS e
                INNER JOIN pgblend_data.chunk AS c ON c.id = e.chunk_id
                WHERE c.document_id = d.id AND c.chunk_index = 0)
            ORDER BY d.id
            LIMIT 3
        ) AS w', target.table_name) INTO keys USING attached.collection_id;
    RETURN (
        SELECT string_agg(format('that of row %s %s', r.key, coalesce(
                pgblend._vector_problem(
                    pgblend._as_vector(r.embedding), target.dimensions, target.storage),
                CASE WHEN btrim(r.content, E' \t\r\n') = '' THEN 'has no text'
                    ELSE 'is not stored: fill the table anew' END)), ', ' ORDER BY r.key)
        FROM pgblend._attached_rows(attached, 'rows', keys, NULL) AS r);
END;
$function$;
