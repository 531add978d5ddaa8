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
