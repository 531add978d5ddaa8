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
                    ELSE 'is not stored: fill the table anew' END)), '; ' ORDER BY r.key)
        FROM pgblend._attached_rows(attached, 'rows', keys, NULL) AS r);
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
    attached pgblend_data.attached_table;
    target pgblend_data.embedding_space;
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
