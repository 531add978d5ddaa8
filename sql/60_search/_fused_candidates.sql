-- _fused_candidates: the arms' candidates, joined and scored, best first.
-- score is RRF divided by what a passage first in every arm would get, or, with a single arm, that
-- arm's own score: BM25 over its perfect score, or (1 + cosine) / 2, which is 1 - distance / 2. An
-- arm of weight 0 does not run; neither does the vector arm without a query vector, nor the fuzzy
-- arm by the setting fuzzy (off, or auto with the words' arm not running). Where words count,
-- phrases and exclusions bind the vectors too. Ties by (document, chunk index).
CREATE OR REPLACE FUNCTION pgblend._fused_candidates(
    query text,
    query_embedding vector,
    space pgblend_data.embedding_space,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb
)
RETURNS TABLE (
    chunk_id bigint,
    document_id bigint,
    chunk_index integer,
    score double precision,
    cosine double precision,
    arms jsonb
)
LANGUAGE sql
STABLE PARALLEL UNSAFE
ROWS 100
BEGIN ATOMIC
    WITH weight AS MATERIALIZED (
        SELECT
            (settings #>> '{weights,lexical}')::double precision AS lexical,
            CASE
                WHEN query_embedding IS NULL THEN 0
                ELSE (settings #>> '{weights,vector}')::double precision
            END AS vector,
            CASE
                WHEN
                    settings ->> 'fuzzy' = 'on'
                    OR settings ->> 'fuzzy' = 'auto' AND settings #> '{weights,lexical}' > '0'
                    THEN coalesce((settings #>> '{weights,fuzzy}')::double precision, 0)
                ELSE 0
            END AS fuzzy
    ),

    lexical AS MATERIALIZED (
        SELECT a.*
        FROM weight AS w
        CROSS JOIN LATERAL pgblend._lexical_arm(query, collection_ids, filter, settings) AS a
        WHERE w.lexical > 0
    ),

    vector AS MATERIALIZED (
        SELECT a.*
        FROM weight AS w
        CROSS JOIN LATERAL pgblend._vector_arm(
            query_embedding, space, collection_ids, CASE WHEN w.lexical > 0 THEN query END,
            filter, settings
        ) AS a
        WHERE w.vector > 0
    ),

    fuzzy AS MATERIALIZED (
        SELECT a.*
        FROM weight AS w
        CROSS JOIN LATERAL pgblend._fuzzy_arm(query, collection_ids, filter, settings) AS a
        WHERE w.fuzzy > 0
    ),

    -- The fuzzy arm may find nothing to put right: then it is no arm that a passage could miss.
    -- Where it did, it has all that the words' arm has and more, which then only breaks ties.
    fuzzy_outcome AS MATERIALIZED (
        SELECT
            count(*) > 0 AS ran,
            coalesce(bool_or(f.corrections IS NOT NULL), false) AS corrected
        FROM fuzzy AS f
    ),

    weight_in_force AS MATERIALIZED (
        SELECT
            CASE WHEN r.corrected THEN w.lexical / 8 ELSE w.lexical END AS lexical,
            w.vector,
            CASE WHEN r.ran THEN w.fuzzy ELSE 0 END AS fuzzy
        FROM weight AS w
        CROSS JOIN fuzzy_outcome AS r
    )

    SELECT
        coalesce(l.chunk_id, v.chunk_id, f.chunk_id) AS chunk_id,
        coalesce(l.document_id, v.document_id, f.document_id) AS document_id,
        coalesce(l.chunk_index, v.chunk_index, f.chunk_index) AS chunk_index,
        CASE
            WHEN w.vector = 0 AND w.fuzzy = 0 THEN l.score / l.perfect_score
            WHEN w.lexical = 0 AND w.fuzzy = 0 THEN greatest((1 + v.cosine) / 2, 0)
            WHEN w.lexical = 0 AND w.vector = 0 THEN f.score / f.perfect_score
            ELSE pgblend.rrf(
                ARRAY[l.rank, v.rank, f.rank]::integer[], ARRAY[w.lexical, w.vector, w.fuzzy],
                (settings ->> 'rrf_k')::double precision, true
            )
        END AS score,
        v.cosine,
        jsonb_strip_nulls(jsonb_build_object(
            'lexical', CASE
                WHEN l.rank IS NOT NULL THEN jsonb_build_object('rank', l.rank, 'score', l.score)
            END,
            'vector', CASE
                WHEN v.rank IS NOT NULL THEN jsonb_build_object('rank', v.rank, 'score', v.cosine)
            END,
            'fuzzy', CASE
                WHEN f.rank IS NOT NULL THEN jsonb_build_object(
                    'rank', f.rank, 'score', f.score, 'method', 'vocabulary',
                    'corrections', f.corrections
                )
            END
        )) AS arms
    FROM weight_in_force AS w
    CROSS JOIN (
        lexical AS l
        FULL JOIN vector AS v ON l.chunk_id = v.chunk_id
        FULL JOIN fuzzy AS f ON coalesce(l.chunk_id, v.chunk_id) = f.chunk_id
    )
    ORDER BY 4 DESC, 2 ASC, 3 ASC;
END;

COMMENT ON FUNCTION pgblend._fused_candidates(
    text, vector, pgblend_data.embedding_space, bigint[], jsonb, jsonb
) IS
'The arms'' candidates, joined and scored in [0, 1], best first: RRF over its largest possible '
'value where two arms run, else the one arm''s own score.';
