-- _cover_density_arm: candidates by websearch_to_tsquery, ranked by ts_rank_cd: S2's words.
-- A passage passes where its body has all words, phrases and none of what is excluded, under its
-- own text search configuration (_websearch_query); score is ts_rank_cd, ties by (document, chunk
-- index). What only lacks the excluded words ranks nothing and is no candidate. It reads tsvectors,
-- by their GIN index where no row security forbids it: for the literal profile three_arm, and for
-- small collections. Arrays as _lexical_arm gives them. ts_rank_cd has no bound, so perfect_score
-- is the best candidate's.
CREATE OR REPLACE FUNCTION pgblend._cover_density_arm(
    query text,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb,
    OUT chunk_ids bigint[],
    OUT document_ids bigint[],
    OUT chunk_indexes integer[],
    OUT scores double precision[],
    OUT perfect_score double precision
)
LANGUAGE sql
STABLE PARALLEL UNSAFE
BEGIN ATOMIC
    WITH asked AS MATERIALIZED (
        SELECT
            l.text_search_config,
            pgblend._websearch_query(l.text_search_config, query) AS condition
        FROM (
            SELECT DISTINCT i.text_search_config
            FROM pgblend_data.collection_language AS i
            WHERE
                i.collection_id = ANY(collection_ids)
                AND i.text_search_config = coalesce(settings ->> 'language', i.text_search_config)
        ) AS l
    ),

    candidate AS (
        SELECT
            c.id,
            c.document_id,
            c.chunk_index,
            ts_rank_cd(c.lexemes, a.condition)::double precision AS cover_density
        FROM asked AS a
        INNER JOIN pgblend_data.chunk AS c
            ON a.text_search_config = c.text_search_config AND c.lexemes @@ a.condition
        WHERE
            c.collection_id = ANY(collection_ids)
            AND (
                filter IS NULL
                OR c.id IN (SELECT unnest(pgblend._filter_chunks(filter, collection_ids, NULL)))
            )
    )

    SELECT
        array_agg(b.id) AS chunk_ids,
        array_agg(b.document_id) AS document_ids,
        array_agg(b.chunk_index) AS chunk_indexes,
        array_agg(b.cover_density) AS scores,
        max(b.cover_density) AS perfect_score
    FROM (
        SELECT c.*
        FROM candidate AS c
        WHERE c.cover_density > 0
        ORDER BY c.cover_density DESC, c.document_id ASC, c.chunk_index ASC
        LIMIT (settings ->> 'candidate_depth')::integer
    ) AS b;
END;
