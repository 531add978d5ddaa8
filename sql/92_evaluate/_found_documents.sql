-- _found_documents: passages collapsed to documents, each at its best place, with its best score.
CREATE OR REPLACE FUNCTION pgblend._found_documents(
    passages pgblend.search_result[],
    OUT source_keys text[],
    OUT scores double precision[]
)
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        coalesce(array_agg(d.source_key ORDER BY d.place), '{}') AS source_keys,
        coalesce(array_agg(d.score ORDER BY d.place), '{}') AS scores
    FROM (
        SELECT
            p.source_key,
            min(p.rank) AS place,
            max(p.score) AS score
        FROM unnest(passages) AS p
        GROUP BY p.source_key
    ) AS d;
END;

COMMENT ON FUNCTION pgblend._found_documents(pgblend.search_result[]) IS
'Passages collapsed to documents, each at its best place, with its best score.';
