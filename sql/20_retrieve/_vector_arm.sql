-- _vector_arm: candidates nearest to a query vector by cosine distance, as arrays, best first, NULL
-- where there are none.
-- Filters never starve it. 'auto' compares all vectors of a small space, which misses nothing and
-- takes about a millisecond for each 1,000 of 384 dimensions (tests/benchmarks/bench_vector_scan);
-- of a larger one those that could be candidates, where they are few: of the searched collections,
-- or the ones that pass the filter. Walking the index until `depth` of n vectors pass where m do
-- takes depth · n / m of them, comparing takes m, so few is the square root of depth · n. Where
-- more pass, an iterative scan goes on until enough did, and should it give up first, all are
-- compared after all. 'index' never compares all, 'exact' always does. The conditions are checked
-- in the scan, as expressions, of which the planner makes no join. Where `binding_query` is given,
-- its phrases and exclusions must hold; those alone do not make it compare all. The SET clauses put
-- the caller's values back: set_config inside lasts to the end of the function, not of the
-- transaction.
CREATE OR REPLACE FUNCTION pgblend._vector_arm(
    query_embedding vector,
    space pgblend_data.embedding_space,
    collection_ids bigint[],
    binding_query text,
    filter jsonb,
    settings jsonb,
    OUT chunk_ids bigint[],
    OUT document_ids bigint[],
    OUT chunk_indexes integer[],
    OUT scores double precision[]
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
SET "hnsw.ef_search" = 40
SET "hnsw.iterative_scan" = strict_order
SET "hnsw.max_scan_tuples" = 20000
SET enable_sort = on
SET jit = off
AS $function$
#variable_conflict use_column
DECLARE
    depth integer := settings ->> 'candidate_depth';
    rescored bigint := ceil(depth * (settings ->> 'rescore_factor')::numeric);
    list_size bigint := greatest(
        coalesce((settings ->> 'ef_search')::bigint, space.ef_search, 100),
        CASE space.storage WHEN 'binary' THEN rescored ELSE depth END);
    scan text := settings ->> 'vector_scan';
    narrowed jsonb := CASE
        WHEN settings ->> 'language' IS NULL THEN filter
        ELSE jsonb_build_object('and', jsonb_build_array(
            jsonb_build_object('$language', settings -> 'language'), coalesce(filter, '{}')))
    END;
    everywhere boolean;
    embeddings regclass := format('pgblend_data.%I', space.table_name);
    vectors real;
    small CONSTANT integer := 10000;
    few integer;
    counted integer;
    is_small boolean;
    passing bigint[];
    compiled record;
    operands text[];
    conditions text := '';
    configs text[];
    phrases tsquery[];
BEGIN
    SELECT
        NOT EXISTS (SELECT FROM pgblend_data.collection AS c WHERE c.id <> ALL(collection_ids)),
        (SELECT c.reltuples FROM pg_catalog.pg_class AS c WHERE c.oid = embeddings)
    INTO everywhere, vectors;
    few := greatest(2000, sqrt(depth * greatest(vectors, 0)));
    IF NOT everywhere THEN  -- else row security restricts already
        conditions := ' AND e.collection_id = ANY($2)';
    END IF;
    IF scan = 'auto' AND narrowed IS NOT NULL AND NOT vectors BETWEEN 0 AND few THEN
        passing := pgblend._filter_chunks(narrowed, collection_ids, few);
    END IF;
    -- The planner's row count tells a small table; of a large one a part is counted, and of one
    -- that was never analyzed (-1), or a search would change with the first autovacuum.
    counted := CASE
        WHEN vectors < 0 THEN small
        WHEN vectors > small AND (NOT everywhere OR row_security_active(embeddings)) THEN few END;
    is_small := passing IS NOT NULL OR vectors BETWEEN 0 AND small;
    IF scan = 'auto' AND NOT is_small AND counted IS NOT NULL THEN
        -- Calls in text: _iso_timestamp (a space's table, below with a filter's conditions).
        EXECUTE format(
            'SELECT count(*) <= $2 FROM (
                SELECT FROM %s AS e WHERE e.collection_id = ANY($1) LIMIT $2::bigint + 1
            ) AS visible', embeddings)
        INTO is_small USING collection_ids, counted;
    END IF;
    IF scan = 'auto' AND is_small THEN
        scan := 'exact';
    END IF;
    IF narrowed IS NOT NULL THEN
        IF passing IS NOT NULL THEN
            conditions := ' AND e.chunk_id = ANY($5)';
        ELSE
            SELECT f.* INTO compiled FROM pgblend._filter_condition(narrowed, 3) AS f;
            operands := compiled.operands;
            conditions := format(
                CASE WHEN pgblend._documents_decide(
                    compiled.on_document, compiled.keys, collection_ids)
                THEN '%1$s AND (
                    SELECT true FROM pgblend_data.document AS d
                    WHERE d.id = e.document_id AND %2$s)'
                ELSE '%1$s AND (
                    SELECT true FROM pgblend_data.chunk AS c
                    INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
                    WHERE c.id = e.chunk_id AND %3$s)' END,
                conditions, compiled.on_document, compiled.on_chunk);
        END IF;
    END IF;
    IF binding_query ~ '["-]' THEN
        SELECT array_agg(b.config_name), array_agg(b.condition) INTO configs, phrases
        FROM pgblend._binding_conditions(binding_query, collection_ids) AS b;
    END IF;
    IF configs IS NOT NULL THEN
        conditions := conditions || ' AND (
            SELECT true FROM pgblend_data.chunk AS c
            WHERE c.id = e.chunk_id
                AND coalesce(c.lexemes @@ $7[array_position($6, c.text_search_config)], true))';
    END IF;
    LOOP
        -- One more, since one more row than is asked for is read to know the ties at the cut: with
        -- fewer it would take a second walk. Without sorting, the index is the only way left.
        PERFORM
            set_config('hnsw.ef_search', least(list_size + 1, 1000)::text, true),
            set_config('enable_sort', CASE scan WHEN 'exact' THEN 'on' ELSE 'off' END, true);
        EXECUTE pgblend._vector_scan(space, conditions, scan = 'exact')
        INTO chunk_ids, document_ids, chunk_indexes, scores
        USING query_embedding, collection_ids, operands, depth, passing, configs, phrases, rescored;
        EXIT WHEN scan <> 'auto' OR cardinality(chunk_ids) = depth
            OR (everywhere OR configs IS NOT NULL) AND narrowed IS NULL;
        scan := 'exact';
    END LOOP;
END;
$function$;
