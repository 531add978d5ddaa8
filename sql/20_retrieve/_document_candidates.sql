-- _document_candidates: BM25 of the documents of one text search configuration that pass the
-- query's phrases and exclusions and the filter, each with its best chunk that passes the filter.
-- Phrases, exclusions and filters are checked on the best documents by their ids, at each turn four
-- times as many, until depth documents pass or none are left. At most depth rows, best first, ties
-- by document. Without numpy the tsvectors are scored.
CREATE OR REPLACE FUNCTION pgblend._document_candidates(
    query text,
    collection_ids bigint[],
    config_name text,
    lexemes text[],
    idf double precision[],
    average_length double precision,
    k1 double precision,
    b double precision,
    field_weights double precision[],
    filter jsonb,
    depth integer,
    deadline double precision,
    reading uuid
)
RETURNS TABLE (
    chunk_id bigint,
    document_id bigint,
    chunk_index integer,
    score double precision
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 100
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    wanted integer := depth;
    binding record;
    passed record;
BEGIN
    SELECT
        coalesce(array_agg(o.alternative), '{}') AS alternatives,
        coalesce(array_agg(o.operand), '{}') AS operands,
        coalesce(array_agg(o.excluded), '{}') AS excluded
    INTO binding
    FROM pgblend._document_operands(query, config_name) AS o;
    IF NOT pgblend._has_numpy() THEN
        RETURN QUERY SELECT s.* FROM pgblend._tsvector_document_score(
            collection_ids, config_name, lexemes, binding.alternatives, binding.operands,
            binding.excluded, idf, average_length, k1, b, field_weights, filter, depth) AS s;
        PERFORM pgblend._check_deadline(deadline);
        RETURN;
    ELSIF binding.operands = '{}' AND filter IS NULL THEN
        RETURN QUERY SELECT u.* FROM pgblend._document_score(
            collection_ids, config_name, lexemes, idf, average_length, k1, b, field_weights, depth,
            false, deadline, reading) AS s
        CROSS JOIN unnest(s.chunk_ids, s.document_ids, s.chunk_indexes, s.scores) AS u;
        RETURN;
    END IF;
    LOOP
        wanted := least(4 * wanted::bigint, 2147483647)::integer;
        SELECT
            (SELECT count(DISTINCT d.id) FROM unnest(best.document_ids) AS d (id)) AS found,
            hit.*
        INTO passed
        FROM pgblend._document_score(
            collection_ids, config_name, lexemes, idf, average_length, k1, b, field_weights, wanted,
            true, deadline, reading) AS best
        CROSS JOIN LATERAL (
            SELECT
                count(*) AS count,
                array_agg(f.chunk_id ORDER BY f.place) AS chunk_ids,
                array_agg(f.document_id ORDER BY f.place) AS document_ids,
                array_agg(f.chunk_index ORDER BY f.place) AS chunk_indexes,
                array_agg(f.score ORDER BY f.place) AS scores
            FROM (
                SELECT DISTINCT ON (u.document_id) u.*
                FROM unnest(best.chunk_ids, best.document_ids, best.chunk_indexes, best.scores)
                    WITH ORDINALITY AS u (chunk_id, document_id, chunk_index, score, place)
                INNER JOIN unnest(CASE WHEN filter IS NULL THEN best.chunk_ids
                    ELSE pgblend._filter_candidates(best.chunk_ids, filter) END)
                    AS passing (chunk_id) ON passing.chunk_id = u.chunk_id
                ORDER BY u.document_id ASC, u.place ASC
            ) AS f
            WHERE pgblend._document_passes(
                f.document_id, binding.alternatives, binding.operands, binding.excluded)
        ) AS hit;
        EXIT WHEN passed.count >= depth OR passed.found < wanted;
    END LOOP;
    RETURN QUERY
    SELECT p.*
    FROM unnest(passed.chunk_ids, passed.document_ids, passed.chunk_indexes, passed.scores) AS p
    LIMIT depth;
END;
$function$;
