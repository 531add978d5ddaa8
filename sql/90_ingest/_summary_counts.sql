-- _summary_counts: for each collection that has or wants summaries, how many there are, how many of
-- another model or prompt than made_by, how many wait, and how many were given up.
-- Those set by hand are of no model. NULL made_by: none is of another.
CREATE OR REPLACE FUNCTION pgblend._summary_counts(made_by text)
RETURNS TABLE (collection text, summaries bigint, other bigint, waiting bigint, given_up bigint)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 10
BEGIN ATOMIC
    SELECT
        c.name AS collection,
        count(*) FILTER (WHERE m.summary <> '') AS summaries,
        count(*) FILTER (
            WHERE m.summary <> '' AND m.key IS NOT NULL AND NOT m.outdated
            AND m.made_by <> _summary_counts.made_by
        ) AS other,
        count(*) FILTER (WHERE (m.summary IS NULL OR m.outdated) AND m.failures < 3) AS waiting,
        count(*) FILTER (WHERE (m.summary IS NULL OR m.outdated) AND m.failures >= 3) AS given_up
    FROM pgblend_data.document_summary AS m
    INNER JOIN pgblend_data.collection AS c ON m.collection_id = c.id
    GROUP BY c.name
    ORDER BY c.name;
END;
