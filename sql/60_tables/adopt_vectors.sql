-- _adoptable: the tables that vectors are taken over from (source, or its partitions), with their
-- pages; an error where they cannot be.
-- source is a table of ready vectors, key_column their passages' ids or, with a collection, source
-- keys. Its rows are read with the caller's own rights.
CREATE OR REPLACE FUNCTION pgblend._adoptable(
    space text,
    source text,
    key_column text,
    vector_column text,
    collection text
)
RETURNS TABLE (relation text, pages bigint)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    named regclass := pgblend._user_table(source);
    vector_type oid := (
        SELECT a.atttypid FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = named AND a.attname = vector_column AND NOT a.attisdropped);
BEGIN
    PERFORM pgblend._named_space(space);
    IF collection IS NOT NULL THEN
        PERFORM pgblend._named_collection(collection);
    END IF;
    IF (SELECT c.relkind IN ('r', 'p', 'm') FROM pg_catalog.pg_class AS c WHERE c.oid = named)
        IS NOT TRUE
    THEN
        RAISE EXCEPTION 'there is no table %', left(source, 200)
            USING ERRCODE = '42P01', HINT = 'Name it with its schema: public.articles';
    ELSIF NOT EXISTS (
        SELECT FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = named AND a.attname = key_column AND NOT a.attisdropped)
    THEN
        RAISE EXCEPTION '% has no column %', named, left(key_column, 200)
            USING ERRCODE = '42703';
    ELSIF vector_type IS NULL THEN
        RAISE EXCEPTION '% has no column %', named, left(vector_column, 200)
            USING ERRCODE = '42703';
    ELSIF NOT pgblend._is_vector(vector_type) THEN
        RAISE EXCEPTION 'column % is of type %: expected vector or halfvec, of pgvector',
            vector_column, format_type(vector_type, NULL)
            USING ERRCODE = '22023',
            HINT = 'ALTER TABLE … ALTER COLUMN … TYPE vector(1536) USING …::vector';
    END IF;
    RETURN QUERY
    SELECT c.oid::regclass::text,
        pg_relation_size(c.oid) / current_setting('block_size')::bigint
    FROM pg_catalog.pg_class AS c
    WHERE c.relkind IN ('r', 'm') AND (c.oid = named OR c.oid IN (
        SELECT p.relid FROM pg_partition_tree(named) AS p))
    ORDER BY c.oid;
END;
$function$;

-- _repeated_keys: how many keys of a table of ready vectors (_adoptable) come more than once, and
-- three of them; 0 and NULL where none does.
-- The table is read with the caller's own rights. NULL is no key.
CREATE OR REPLACE FUNCTION pgblend._repeated_keys(source text, key_column text)
RETURNS TABLE (keys bigint, examples text[])
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 1
AS $function$
BEGIN
    -- Calls in text: none (a user's table).
    RETURN QUERY EXECUTE format(
        'SELECT count(*), (array_agg(r.key ORDER BY r.key))[1:3]
        FROM (
            SELECT g.key
            FROM (
                SELECT format(''%%s'', t.%2$I) AS key FROM %1$s AS t WHERE num_nulls(t.%2$I) = 0
            ) AS g
            GROUP BY g.key
            HAVING count(*) > 1
        ) AS r', pgblend._user_table(source), key_column);
END;
$function$;

-- _adopt_vectors: take the vectors of some pages of a table (_adoptable) over to a space; returns
-- what became of the rows.
-- looked_at rows are all: stored ones have their vector in the space now, present ones had one and
-- keep it (unless replace), and wrong ones could not be stored, as examples says of three. A source
-- key stands for the first passage of its document.
CREATE OR REPLACE FUNCTION pgblend._adopt_vectors(
    space text,
    relation regclass,
    key_column text,
    vector_column text,
    collection text,
    first_page bigint,
    pages bigint,
    replace boolean
)
RETURNS TABLE (looked_at bigint, stored bigint, present bigint, wrong bigint, examples text[])
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
AS $function$
DECLARE
    target pgblend_data.embedding_space := pgblend._named_space(space);
    chunk_ids bigint[];
    vectors vector[];
BEGIN
    -- Calls in text: _vector_problem (a user's table, and a space's).
    EXECUTE format(
        'WITH given AS MATERIALIZED (
            SELECT s.key, s.embedding::vector AS embedding
            FROM (
                SELECT CASE WHEN num_nulls(t.%2$I) = 0 THEN format(''%%s'', t.%2$I) END AS key,
                    t.%3$I AS embedding
                FROM ONLY %1$s AS t
                WHERE t.ctid >= format(''(%%s,0)'', $1)::tid
                    AND t.ctid < format(''(%%s,0)'', $1 + $2)::tid
            ) AS s
        ), placed AS MATERIALIZED (
            SELECT g.key, g.embedding, c.id AS chunk_id,
                row_number() OVER (PARTITION BY c.id) AS nth,
                NOT $6 AND EXISTS (
                    SELECT FROM pgblend_data.%4$I AS e WHERE e.chunk_id = c.id) AS is_present,
                CASE WHEN c.id IS NULL THEN ''names no passage''
                    ELSE ''has a vector that '' || pgblend._vector_problem(g.embedding, $4, $5)
                END AS problem
            FROM given AS g
            LEFT JOIN %5$s
        ), judged AS (
            SELECT p.*, CASE WHEN p.problem IS NULL AND p.nth > 1 THEN ''comes twice''
                ELSE p.problem END AS why
            FROM placed AS p
        )
        SELECT count(*),
            count(*) FILTER (WHERE j.is_present AND j.why IS NULL),
            count(j.why),
            (array_agg(format(''%%s %%s'', coalesce(j.key, ''NULL''), j.why) ORDER BY j.key)
                FILTER (WHERE j.why IS NOT NULL))[1:3],
            array_agg(j.chunk_id ORDER BY j.chunk_id) FILTER (
                WHERE j.why IS NULL AND NOT j.is_present),
            array_agg(j.embedding ORDER BY j.chunk_id) FILTER (
                WHERE j.why IS NULL AND NOT j.is_present)
        FROM judged AS j',
        relation, key_column, vector_column, target.table_name,
        CASE WHEN collection IS NULL
            THEN 'pgblend_data.chunk AS c
                ON c.id = CASE WHEN g.key ~ ''^[0-9]{1,18}$'' THEN g.key::bigint END'
            ELSE '(pgblend_data.document AS d INNER JOIN pgblend_data.chunk AS c
                ON c.document_id = d.id AND c.chunk_index = 0)
                ON d.collection_id = $3 AND d.source_key = g.key' END)
    INTO looked_at, present, wrong, examples, chunk_ids, vectors
    USING first_page, pages, CASE WHEN collection IS NOT NULL
        THEN (pgblend._named_collection(collection)).id END,
        target.dimensions, target.storage, replace;
    stored := CASE WHEN chunk_ids IS NULL THEN 0
        ELSE blend.store_embeddings(space, chunk_ids, vectors) END;
    RETURN NEXT;
END;
$function$;
