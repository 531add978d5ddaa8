-- _index_space: make the HNSW index of an embedding space, or with false drop it; returns whether
-- that was to be done.
-- By pgvector's own ef_construction (64) walks get lost where texts are of several kinds. Runs with
-- its owner's rights: the tables belong to whoever owns the others. Only admins may call it.
CREATE OR REPLACE FUNCTION pgblend._index_space(space text, indexed boolean)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    extension_schema text := (
        SELECT e.extnamespace::regnamespace FROM pg_extension AS e WHERE e.extname = 'vector');
    named pgblend_data.embedding_space := pgblend._named_space(space);
    index_name text := named.table_name || '_embedding_hnsw';
BEGIN
    IF indexed = (to_regclass(format('pgblend_data.%I', index_name)) IS NOT NULL) THEN
        RETURN false;
    END IF;
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
