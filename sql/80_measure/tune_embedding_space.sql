-- tune_embedding_space: find the least ef_search by which the HNSW index finds 99 percent of the
-- nearest candidate_depth passages, and keep it for searches that set none.
-- It tries candidate_depth, 2, 4 and 8 times as many, and 1000, until one suffices, each on
-- `sample_size` points (audit_recall). Where none does, the largest is kept. A row each, the last
-- one kept, in the view embedding_spaces with what it found. A NULL name is the active space. No
-- vectors give no rows and keep nothing; an unknown space is an error. For members of
-- pgblend_admin.
CREATE OR REPLACE FUNCTION blend.tune_embedding_space(
    name text DEFAULT NULL,
    sample_size integer DEFAULT 50
)
RETURNS TABLE (
    ef_search integer,
    recall double precision,
    worst_recall double precision,
    index_ms double precision,
    exact_ms double precision,
    kept boolean
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 4
AS $function$
DECLARE
    enough CONSTANT double precision := 0.99;
    most CONSTANT integer := 1000;  -- pgvector's
    tuned text := (pgblend._searched_space(name)).name;
    depth integer := pgblend._search_settings('{}', NULL, NULL) ->> 'candidate_depth';
    tried integer;
BEGIN
    FOR tried IN SELECT DISTINCT least(depth * factor, most)
        FROM unnest(ARRAY[1, 2, 4, 8, most]) AS factor
        WHERE tuned IS NOT NULL
        ORDER BY 1
    LOOP
        ef_search := tried;
        SELECT a.recall, a.worst_recall, a.index_ms, a.exact_ms
        INTO recall, worst_recall, index_ms, exact_ms
        FROM blend.audit_recall(
            sample_size => sample_size, result_limit => least(depth, most),
            filters => ARRAY[NULL]::jsonb[],
            options => jsonb_build_object('space', tuned, 'ef_search', tried)) AS a;
        EXIT WHEN recall IS NULL;
        kept := recall >= enough OR tried = most;
        RETURN NEXT;
        EXIT WHEN kept;
    END LOOP;
    IF kept THEN
        PERFORM pgblend._note_tuned(tuned, ef_search, recall);
    END IF;
END;
$function$;

-- _note_tuned: keep the search list of an embedding space's index, and what it finds with that.
-- Runs with its owner's rights, since nobody else writes the registry; only admins may call it.
CREATE OR REPLACE FUNCTION pgblend._note_tuned(
    space text,
    ef_search integer,
    recall double precision
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    UPDATE pgblend_data.embedding_space AS s
    SET ef_search = _note_tuned.ef_search, recall = _note_tuned.recall, tuned_at = now()
    WHERE s.name = space;
END;
$function$;

-- _sampled_chunks: chunks of a collection, at most so many: those whose ids have the least hashes,
-- which have nothing to do with what they say.
CREATE OR REPLACE FUNCTION pgblend._sampled_chunks(collection_id bigint, most integer)
RETURNS TABLE (chunk_id bigint, hash integer)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 100
BEGIN ATOMIC
    SELECT
        c.id,
        hashint8(c.id) AS hash
    FROM pgblend_data.chunk AS c
    WHERE c.collection_id = _sampled_chunks.collection_id
    ORDER BY hash, c.id
    LIMIT most;
END;
