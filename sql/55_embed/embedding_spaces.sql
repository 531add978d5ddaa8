-- switch_embedding_space: let searches use another embedding space, from the commit on; returns the
-- name of the one before.
-- A search keeps the space that it began with. A space in which chunks wait for their vector is
-- refused (55000) unless even_incomplete is true; an unknown one is an error. Switching to the
-- active space changes nothing, but ends what bridge_embedding_space began. Collections whose
-- attached tables have vectors keep their space, and a WARNING names them. For members of
-- pgblend_admin.
CREATE OR REPLACE FUNCTION blend.switch_embedding_space(
    name text,
    even_incomplete boolean DEFAULT false
)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    lacking bigint;
BEGIN
    PERFORM pgblend._named_space(name);
    IF NOT coalesce(even_incomplete, false) THEN
        lacking := pgblend._lacking_vectors(name);
        IF lacking > 0 THEN
            RAISE EXCEPTION '% chunks have no vector in embedding space "%" yet', lacking, name
                USING ERRCODE = '55000',
                HINT = 'Fill it (pgblend space fill), or say even_incomplete => true.';
        END IF;
    END IF;
    PERFORM pgblend._keep_own_spaces(name);
    RETURN pgblend._activate_space(name);
END;
$function$;

-- drop_embedding_space: delete an embedding space with its vectors; false where there is none.
-- The active space is refused (55006) unless even_active is true, one that answers for another
-- that is being filled (55006), and one that has the vectors of an attached table (55000). It waits
-- for searches in short turns, so that nobody waits behind it for long and no deadlock hits others;
-- 55P03 after 10 s.
-- Runs with its owner's rights, since the table belongs to whoever owns the others; a check
-- constraint lets the registry name embedding tables only. For members of pgblend_admin.
CREATE OR REPLACE FUNCTION blend.drop_embedding_space(
    name text,
    even_active boolean DEFAULT false
)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN pgblend._drop_embedding_space(name, even_active);
END;
$function$;

-- _drop_embedding_space: what drop_embedding_space does, by its owner's rights.
-- With them a routine does not see its caller, who is to hear which GRANT is missing.
CREATE OR REPLACE FUNCTION pgblend._drop_embedding_space(
    name text,
    even_active boolean
)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET lock_timeout = '200ms'
AS $function$
DECLARE
    dropped pgblend_data.embedding_space;
BEGIN
    SELECT s.* INTO dropped FROM pgblend_data.embedding_space AS s
    WHERE s.name = _drop_embedding_space.name;
    IF NOT FOUND THEN
        RETURN false;
    ELSIF dropped.active AND NOT coalesce(even_active, false) THEN
        RAISE EXCEPTION 'embedding space "%" is the one that searches use', dropped.name
            USING ERRCODE = '55006',
            HINT = 'Switch to another first (switch_embedding_space), or say even_active => true.';
    ELSIF EXISTS (
        SELECT FROM pgblend_data.embedding_space AS s WHERE s.bridged_from = dropped.name)
    THEN
        RAISE EXCEPTION 'passages without a vector in "%" are found by embedding space "%"', (
            SELECT min(s.name) FROM pgblend_data.embedding_space AS s
            WHERE s.bridged_from = dropped.name), dropped.name
            USING ERRCODE = '55006',
            HINT = 'Fill that space first (pgblend space fill), or switch to either of the two.';
    ELSIF EXISTS (SELECT FROM pgblend_data.attached_table AS a WHERE a.space = dropped.name) THEN
        RAISE EXCEPTION 'embedding space "%" has the vectors of the attached table %', dropped.name, (
            SELECT min(a.table_name) FROM pgblend_data.attached_table AS a
            WHERE a.space = dropped.name)
            USING ERRCODE = '55000',
            HINT = 'Attach the table anew without embedding_column, or detach it.';
    END IF;
    IF NOT pgblend._drop_embedding_table(dropped) THEN
        RETURN false;
    END IF;
    DELETE FROM pgblend_data.embedding_space AS s WHERE s.name = dropped.name;
    RETURN true;
END;
$function$;

-- index_embedding_space: make the HNSW index of an embedding space, or with false drop it; returns
-- whether that was to be done.
-- Many vectors are stored several times faster without it, and then indexed at once, in parallel
-- where max_parallel_maintenance_workers and maintenance_work_mem allow. Until then searches
-- compare all vectors: exact, and slower with each. Writers of vectors wait while it is made. An
-- unknown space is an error. NULL for indexed means true. Runs with its owner's rights: the tables
-- belong to whoever owns the others. For members of pgblend_admin.
CREATE OR REPLACE FUNCTION blend.index_embedding_space(name text, indexed boolean DEFAULT true)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN pgblend._index_embedding_space(name, indexed);
END;
$function$;

-- _index_embedding_space: what index_embedding_space does, by its owner's rights.
-- With them a routine does not see its caller, who is to hear which GRANT is missing.
CREATE OR REPLACE FUNCTION pgblend._index_embedding_space(name text, indexed boolean)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    extension_schema text := (
        SELECT e.extnamespace::regnamespace FROM pg_extension AS e WHERE e.extname = 'vector');
    named pgblend_data.embedding_space := pgblend._named_space(name);
    index_name text := named.table_name || '_embedding_hnsw';
BEGIN
    indexed := coalesce(indexed, true);
    IF indexed = (to_regclass(format('pgblend_data.%I', index_name)) IS NOT NULL) THEN
        RETURN false;
    END IF;
    -- By pgvector's own ef_construction (64) walks get lost where texts are of several kinds.
    -- Calls in text: none (a space's index).
    IF indexed THEN
        EXECUTE format(
            'CREATE INDEX %I ON pgblend_data.%I USING hnsw (%s) WITH (ef_construction = 200)',
            index_name, named.table_name,
            CASE named.storage
                WHEN 'binary' THEN format(
                    '(%1$s.binary_quantize(embedding)::bit(%2$s)) %1$s.bit_hamming_ops',
                    extension_schema, named.dimensions)
                ELSE format('embedding %s.%s_cosine_ops', extension_schema, named.storage) END);
    ELSE
        EXECUTE format('DROP INDEX pgblend_data.%I', index_name);
    END IF;
    RETURN true;
END;
$function$;

-- _activate_space: make an embedding space the active one, which answers alone; returns the name of
-- the one before.
-- Runs with its owner's rights, since nobody else writes the registry; only admins may call it.
CREATE OR REPLACE FUNCTION pgblend._activate_space(name text)
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    before text;
BEGIN
    -- One switch after the other; ordered, so that two do not wait for each other.
    PERFORM s.name FROM pgblend_data.embedding_space AS s ORDER BY s.name FOR UPDATE;
    SELECT s.name INTO before FROM pgblend_data.embedding_space AS s WHERE s.active;
    UPDATE pgblend_data.embedding_space AS s SET active = false
    WHERE s.active AND s.name <> _activate_space.name;
    UPDATE pgblend_data.embedding_space AS s SET active = true
    WHERE NOT s.active AND s.name = _activate_space.name;
    UPDATE pgblend_data.embedding_space AS s SET bridged_from = NULL
    WHERE s.bridged_from IS NOT NULL;
    DELETE FROM pgblend_data.space_bridge;
    RETURN before;
END;
$function$;

-- _lacking_vectors: how many chunks have no vector in an embedding space yet.
CREATE OR REPLACE FUNCTION pgblend._lacking_vectors(space text)
RETURNS bigint
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    RETURN (SELECT c.waiting + c.missing FROM blend.count_vectors(space) AS c);
END;
$function$;

-- _keep_own_spaces: have searches of collections whose attached tables have vectors in another
-- space than this go on in it; a WARNING names the tables.
CREATE OR REPLACE FUNCTION pgblend._keep_own_spaces(space text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    other record;
BEGIN
    FOR other IN
        SELECT a.table_name, a.space, c.name, c.settings
        FROM pgblend_data.attached_table AS a
        INNER JOIN pgblend_data.collection AS c ON a.collection_id = c.id
        WHERE a.space <> _keep_own_spaces.space
        ORDER BY a.table_name
    LOOP
        IF NOT other.settings ? 'space' THEN
            PERFORM blend.set_collection_settings(
                other.name, jsonb_build_object('space', other.space));
        END IF;
        RAISE WARNING 'the vectors of the attached table % are in the embedding space "%"',
            other.table_name, other.space
            USING HINT = format('Searches of the collection "%s" alone use that one; among others '
                'its rows are found by their words.', other.name);
    END LOOP;
END;
$function$;

-- _drop_embedding_table: drop the table of an embedding space; false where it is gone.
-- It waits in turns as long as the lock_timeout, and for ten seconds in all.
CREATE OR REPLACE FUNCTION pgblend._drop_embedding_table(dropped pgblend_data.embedding_space)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    gives_up_at timestamptz := clock_timestamp() + interval '10 s';
BEGIN
    LOOP
        BEGIN
            -- Calls in text: none (a space's table).
            EXECUTE format(
                'LOCK TABLE pgblend_data.%I, pgblend_data.chunk IN ACCESS EXCLUSIVE MODE',
                dropped.table_name);
            EXIT;
        EXCEPTION
            WHEN undefined_table THEN
                RETURN false;  -- somebody else was faster
            WHEN lock_not_available THEN
                IF clock_timestamp() > gives_up_at THEN
                    RAISE EXCEPTION 'embedding space "%" is in use', dropped.name
                        USING ERRCODE = '55P03',
                        HINT = 'A search or an ingest holds it: try again when that is over.';
                END IF;
        END;
        PERFORM pg_sleep(0.05);
    END LOOP;
    EXECUTE format('DROP TABLE pgblend_data.%I', dropped.table_name);
    RETURN true;
END;
$function$;
