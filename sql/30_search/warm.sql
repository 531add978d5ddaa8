-- warm: have this session ready to search; with `server`, also read into memory what searches read.
-- The session loads the program and numpy, reads its view of the lexical index and plans its
-- statements: what the first search of a connection takes longer than the next. It asks no model
-- and is not logged. `server` (once after a restart) has pg_prewarm, where that extension is, read
-- the index of the active space, the lexical index, vectors and passages, in this order: into
-- shared_buffers as long as they fit there, the rest into the system's cache. A row for the session
-- (its bytes are NULL), and one for each table and index; `memory` is session, shared_buffers,
-- system cache, or NULL where it was not read, and `note` says why, or what the session's search
-- had to go without. What the caller may not read is told, not an error.
CREATE OR REPLACE FUNCTION blend.warm(server boolean DEFAULT false)
RETURNS TABLE (part text, bytes bigint, memory text, note text)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 20
AS $function$
DECLARE
    free bigint := pg_size_bytes(current_setting('shared_buffers'));
    prewarm_schema name := (
        SELECT n.nspname FROM pg_extension AS x
        INNER JOIN pg_namespace AS n ON n.oid = x.extnamespace WHERE x.extname = 'pg_prewarm');
    -- In the order in which they are read.
    read_tables text[] := ARRAY(
        SELECT s.table_name::text FROM pgblend_data.embedding_space AS s WHERE s.active)
        || '{segment,posting,document,chunk}'::text[];
    relation regclass;
BEGIN
    RETURN QUERY SELECT 'session', NULL::bigint, 'session', pgblend._warm_session();
    IF server IS NOT TRUE THEN
        RETURN;
    END IF;
    FOR relation, part, bytes IN
        SELECT r.id, r.part, pg_relation_size(r.id)
        FROM pg_class AS c
        CROSS JOIN LATERAL (VALUES
            (c.oid, c.relname::text), (c.reltoastrelid, 'long values of ' || c.relname)
        ) AS t (id, part)
        CROSS JOIN LATERAL (
            SELECT t.id, t.part, false AS is_index
            UNION ALL
            SELECT x.oid, CASE WHEN t.id = c.oid THEN x.relname ELSE 'index of ' || t.part END, true
            FROM pg_index AS i
            INNER JOIN pg_class AS x ON x.oid = i.indexrelid
            WHERE i.indrelid = t.id
        ) AS r
        WHERE c.relnamespace = 'pgblend_data'::regnamespace AND c.relname = ANY(read_tables)
            AND t.id <> 0
        ORDER BY r.is_index DESC, array_position(read_tables, c.relname::text), r.part
    LOOP
        memory := CASE WHEN bytes <= free THEN 'shared_buffers' ELSE 'system cache' END;
        note := CASE WHEN prewarm_schema IS NULL THEN 'CREATE EXTENSION pg_prewarm reads it'
            ELSE pgblend._warm_relation(
                relation, prewarm_schema, CASE WHEN bytes <= free THEN 'buffer' ELSE 'read' END) END;
        IF bytes <= free THEN
            free := free - bytes;
        END IF;
        IF note IS NOT NULL THEN
            memory := NULL;
        END IF;
        RETURN NEXT;
    END LOOP;
END;
$function$;

-- _warm_session: a search that is not logged and asks no model, with a stored passage and its
-- vector, without one by words alone; returns what it had to go without. Where the caller may read
-- no passage, its words are found nowhere.
CREATE OR REPLACE FUNCTION pgblend._warm_session()
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    sample record;
    stored vector;
    search record;
BEGIN
    SELECT p.* INTO sample FROM pgblend._any_passage() AS p LIMIT 1;
    SELECT e.embedding INTO stored FROM blend.chunk_embeddings(ARRAY[sample.chunk_id]) AS e;
    search := pgblend._search(
        coalesce(nullif(btrim(sample.words), ''), 'pgblend'), 10, NULL, NULL, NULL,
        CASE WHEN stored IS NULL
            THEN '{"expand": "off", "rerank": "off", "strict": false, "weights": {"vector": 0}}'
            ELSE '{"expand": "off", "rerank": "off", "strict": false}' END::jsonb,
        stored, is_reported => false);
    RETURN (SELECT string_agg(d.reason, '; ' ORDER BY d.place)
        FROM jsonb_array_elements_text(blend.last_search() -> 'degraded')
            WITH ORDINALITY AS d (reason, place));
END;
$function$;

-- _any_passage: one of the passages that the caller may read, and how it begins; no row for none.
CREATE OR REPLACE FUNCTION pgblend._any_passage()
RETURNS TABLE (chunk_id bigint, words text)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 1
AS $function$
BEGIN
    RETURN QUERY SELECT c.id, left(c.content, 200) FROM pgblend_data.chunk AS c LIMIT 1;
END;
$function$;

-- _warm_relation: read a table or index through pg_prewarm, whose schema is given; into
-- shared_buffers or, with mode 'read', into the system's cache. Returns why it was not read, NULL
-- where it was.
CREATE OR REPLACE FUNCTION pgblend._warm_relation(relation regclass, prewarm_schema name, mode text)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
STRICT
AS $function$
BEGIN
    -- Calls in text: none (pg_prewarm's schema).
    -- All arguments, of their types: no overload of somebody else fits better.
    EXECUTE format(
        'SELECT %I.pg_prewarm($1, $2, ''main''::text, NULL::bigint, NULL::bigint)', prewarm_schema)
    USING relation, mode;
    RETURN NULL;
EXCEPTION WHEN insufficient_privilege THEN
    RETURN SQLERRM;
END;
$function$;
