WITH words AS MATERIALIZED (
    SELECT * FROM lexical_search('wine production', 50)
),
vectors AS MATERIALIZED (
    SELECT * FROM vector_search('wine production', 50)
),
fused AS (      -- 30 % words, 70 % meaning; each list's scores brought to [0, 1]
    SELECT
        chunk_id,
        coalesce(w.document_id, v.document_id) AS document_id,
        coalesce(w.content, v.content) AS content,
        rrf(ARRAY[w.rank, v.rank], normalized => true) AS rrf,
        convex_fusion(ARRAY[
            (SELECT normalize_scores(array_agg(score ORDER BY rank)) FROM words)[w.rank],
            (SELECT normalize_scores(array_agg(score ORDER BY rank)) FROM vectors)[v.rank]
        ], ARRAY[0.3, 0.7]) AS score
    FROM words AS w FULL JOIN vectors AS v USING (chunk_id)
),
kept AS (       -- no text twice, at most two passages of a document
    SELECT a.chunks[d.place] AS chunk_id, a.scores[d.place] AS score, d.place
    FROM (
        SELECT
            array_agg(chunk_id ORDER BY score DESC, chunk_id) AS chunks,
            array_agg(score ORDER BY score DESC, chunk_id) AS scores,
            array_agg(document_id ORDER BY score DESC, chunk_id) AS documents,
            array_agg(content ORDER BY score DESC, chunk_id) AS contents
        FROM fused
    ) AS a, drop_duplicates(
        contents => a.contents, document_ids => a.documents, per_document => 2) AS d
    WHERE d.duplicate_of IS NULL
),
chosen AS (     -- ten passages that differ from each other
    SELECT a.chunks[m.place] AS chunk_id, m.rank
    FROM (
        SELECT
            array_agg(chunk_id ORDER BY place) AS chunks,
            array_agg(score ORDER BY place) AS scores,
            array_agg(embedding ORDER BY place) AS embeddings
        FROM kept
        LEFT JOIN chunk_embeddings((SELECT array_agg(chunk_id) FROM kept)) USING (chunk_id)
    ) AS a, mmr_select(a.scores, a.embeddings, lambda => 0.7, result_limit => 10) AS m
)
SELECT c.rank, f.score, f.rrf, f.document_id, f.content
FROM chosen AS c JOIN fused AS f USING (chunk_id)
ORDER BY c.rank;
