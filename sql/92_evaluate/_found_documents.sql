-- _found_documents: passages collapsed to documents, each at its best place, with its best score.
-- A passage counts as the documents with its text (copies in details) that are relevant to the
-- judged query, the best first, else as its own document: what dedup leaves out is no miss. A NULL
-- judged_query_id judges nothing.
CREATE OR REPLACE FUNCTION pgblend._found_documents(
    passages blend.search_result[],
    judged_query_id bigint,
    OUT source_keys text[],
    OUT scores double precision[]
)
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH passage AS (
        SELECT
            p.rank,
            p.score,
            p.source_key AS own_key,
            p.source_key
        FROM unnest(passages) AS p
        UNION ALL
        SELECT
            p.rank,
            p.score,
            p.source_key AS own_key,
            c.copy ->> 'source_key' AS source_key
        FROM unnest(passages) AS p
        CROSS JOIN LATERAL jsonb_array_elements(p.details -> 'copies') AS c (copy)
    ),

    counted AS (
        SELECT
            a.*,
            row_number() OVER (
                ORDER BY a.rank ASC, a.grade DESC, a.source_key <> a.own_key ASC, a.source_key ASC
            ) AS place
        FROM (
            SELECT
                p.*,
                greatest(j.grade, 0) AS grade,
                coalesce(max(j.grade) OVER (PARTITION BY p.rank) > 0, false) AS is_relevant
            FROM passage AS p
            LEFT JOIN pgblend_data.judgement AS j
                ON p.source_key = j.source_key AND j.query_id = judged_query_id
        ) AS a
        WHERE CASE WHEN a.is_relevant THEN a.grade > 0 ELSE a.source_key = a.own_key END
    )

    SELECT
        coalesce(array_agg(d.source_key ORDER BY d.place), '{}') AS source_keys,
        coalesce(array_agg(d.score ORDER BY d.place), '{}') AS scores
    FROM (
        SELECT
            c.source_key,
            min(c.place) AS place,
            max(c.score) AS score
        FROM counted AS c
        GROUP BY c.source_key
    ) AS d;
END;
