-- _trigram_arm: candidates by the likeness of the query's words to a passage's, in trigrams.
-- score is word_similarity(words, content), from 0.3 on; ties by (document, chunk index). It reads
-- every content, so it is slow: for the literal profile three_arm, and for small collections.
-- Phrases and exclusions must hold. Arrays as _fuzzy_arm gives them; perfect_score is 1.
CREATE OR REPLACE FUNCTION pgblend._trigram_arm(
    query text,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb,
    OUT chunk_ids bigint[],
    OUT document_ids bigint[],
    OUT chunk_indexes integer[],
    OUT scores double precision[],
    OUT perfect_score double precision,
    OUT corrections jsonb[]
)
LANGUAGE sql
STABLE PARALLEL UNSAFE
BEGIN ATOMIC
    WITH words AS MATERIALIZED (
        SELECT pgblend._query_groups(query) ->> 'words' AS words
    ),

    binding AS MATERIALIZED (
        SELECT b.* FROM pgblend._binding_conditions(query, collection_ids) AS b
    ),

    candidate AS (
        SELECT
            c.id,
            c.document_id,
            c.chunk_index,
            word_similarity(w.words, c.content) AS likeness
        FROM words AS w
        CROSS JOIN pgblend_data.chunk AS c
        LEFT JOIN binding AS b ON c.text_search_config = b.config_name
        WHERE
            c.collection_id = ANY(collection_ids)
            AND c.text_search_config = coalesce(settings ->> 'language', c.text_search_config)
            AND coalesce(c.lexemes @@ b.condition, true)
            AND (
                filter IS NULL
                OR c.id IN (SELECT unnest(pgblend._filter_chunks(filter, collection_ids, NULL)))
            )
    )

    SELECT
        array_agg(b.id) AS chunk_ids,
        array_agg(b.document_id) AS document_ids,
        array_agg(b.chunk_index) AS chunk_indexes,
        array_agg(b.likeness::double precision) AS scores,
        1 AS perfect_score,
        array_agg(NULL::jsonb) AS corrections
    FROM (
        SELECT c.*
        FROM candidate AS c
        WHERE c.likeness >= 0.3::real
        ORDER BY c.likeness DESC, c.document_id ASC, c.chunk_index ASC
        LIMIT (settings ->> 'candidate_depth')::integer
    ) AS b;
END;
