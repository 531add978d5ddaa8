-- _guard_store: make a coordinator's own tables of the store refuse to be read and written.
-- Each gets a child on a server of a wrapper without handler, which no statement that reads the
-- table can be planned with: the error names the wrapper, whose name says where documents are.
-- Again changes nothing. `tables` and `fronts` are names; only a superuser may call it.
CREATE OR REPLACE FUNCTION pgblend._guard_store(tables text[], fronts text[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    guarded text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_foreign_server AS s WHERE s.srvname = 'pgblend_elsewhere') THEN
        CREATE FOREIGN DATA WRAPPER "documents are on the shards: see docs/shards.md, which";
        CREATE SERVER pgblend_elsewhere
        FOREIGN DATA WRAPPER "documents are on the shards: see docs/shards.md, which";
    END IF;
    PERFORM pgblend._guard_table(t.name)
    FROM (
        SELECT unnest(tables) AS name
        UNION ALL SELECT s.table_name FROM pgblend_data.embedding_space AS s
    ) AS t;
    FOREACH guarded IN ARRAY fronts LOOP
        -- Calls in text: _count_change (a table by name).
        EXECUTE format(
            'CREATE OR REPLACE TRIGGER %I AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE
            ON pgblend_data.%I FOR EACH STATEMENT EXECUTE FUNCTION pgblend._count_change()',
            guarded || '_95_count_change', guarded);
    END LOOP;
END;
$function$;

-- _count_change: count a change of what a coordinator's shards have a copy of.
CREATE OR REPLACE FUNCTION pgblend._count_change()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    UPDATE pgblend_data.shard_front SET version = version + 1;
    RETURN NULL;
END;
$function$;

-- _create_embedding_table: the table that stands for those of the shards: it refuses to be read.
CREATE OR REPLACE FUNCTION pgblend._create_embedding_table(space text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    made pgblend_data.embedding_space := pgblend._named_space(space);
BEGIN
    -- Calls in text: none (a space's table).
    EXECUTE format(
        'CREATE TABLE pgblend_data.%1$I (embedding %2$I.%3$s NOT NULL);
        GRANT SELECT ON pgblend_data.%1$I TO pgblend_reader', made.table_name,
        (SELECT n.nspname FROM pg_extension AS e
            INNER JOIN pg_namespace AS n ON n.oid = e.extnamespace
            WHERE e.extname = 'vector'),
        made.vector_type);
    PERFORM pgblend._guard_table(made.table_name);
END;
$function$;

-- _guard_table: make a table refuse to be read and written; a second time nothing changes.
CREATE OR REPLACE FUNCTION pgblend._guard_table(table_name text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    -- Calls in text: _refuse_rows (a table by name).
    EXECUTE format(
        'CREATE FOREIGN TABLE IF NOT EXISTS pgblend_data.%I () INHERITS (pgblend_data.%I)
        SERVER pgblend_elsewhere', table_name || '_elsewhere', table_name);
    EXECUTE format(
        'CREATE OR REPLACE TRIGGER %I BEFORE INSERT ON pgblend_data.%I
        FOR EACH STATEMENT EXECUTE FUNCTION pgblend._refuse_rows()',
        table_name || '_00_refuse_rows', table_name);
END;
$function$;

-- _refuse_rows: raise where rows are stored in a coordinator's own tables of the store.
CREATE OR REPLACE FUNCTION pgblend._refuse_rows()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RAISE EXCEPTION 'documents are stored on shards, not on their coordinator (table %)', TG_TABLE_NAME
        USING ERRCODE = 'feature_not_supported',
        HINT = 'docs/shards.md says how documents come to their shard.';
END;
$function$;

-- _drop_embedding_table: drop what stands for the tables of the shards; false where it is gone.
CREATE OR REPLACE FUNCTION pgblend._drop_embedding_table(dropped pgblend_data.embedding_space)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    -- Calls in text: none (a space's table).
    EXECUTE format('DROP FOREIGN TABLE pgblend_data.%I', dropped.table_name || '_elsewhere');
    EXECUTE format('DROP TABLE pgblend_data.%I', dropped.table_name);
    RETURN true;
EXCEPTION WHEN undefined_table THEN
    RETURN false;  -- somebody else was faster
END;
$function$;

-- _queue_all: nothing is queued here: each shard does when it gets the space (_apply_front).
CREATE OR REPLACE FUNCTION pgblend._queue_all(space text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    NULL;
END;
$function$;

-- _empty_collection: nothing is deleted here: each shard does when it learns that the collection is
-- gone (_apply_front).
CREATE OR REPLACE FUNCTION pgblend._empty_collection(target bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    NULL;
END;
$function$;

-- _most_chunks: how many chunks the database has that has the most of them: the largest shard.
CREATE OR REPLACE FUNCTION pgblend._most_chunks()
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN (
        SELECT max((a.answer #>> '{}')::bigint)
        FROM pgblend._on_shards('pgblend._most_chunks', '{}') AS a (answer));
END;
$function$;

-- _collection_add_locks: trigger that adds nothing: each shard has locks of its own for a
-- collection.
CREATE OR REPLACE FUNCTION pgblend._collection_add_locks()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    RETURN NULL;
END;
$function$;

-- _follow_settings: nothing is done here: each shard applies changed settings to what it has.
CREATE OR REPLACE FUNCTION pgblend._follow_settings(
    collection_id bigint,
    old_settings jsonb,
    new_settings jsonb
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    NULL;
END;
$function$;

-- _fit_bridge: refuse the matrix between two spaces, whose vectors are on shards.
CREATE OR REPLACE FUNCTION pgblend._fit_bridge(
    older name,
    newer name,
    most integer,
    OUT pairs integer,
    OUT weights vector[],
    OUT shift vector,
    OUT kept double precision,
    OUT recall double precision
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RAISE EXCEPTION 'a space that is being filled does not answer on a coordinator of shards yet'
        USING ERRCODE = 'feature_not_supported',
        HINT = 'Fill it (pgblend space fill), then switch (pgblend space switch NAME).';
END;
$function$;
