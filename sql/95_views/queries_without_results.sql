-- queries_without_results: queries that found nothing, whatever their case and spaces.
CREATE OR REPLACE VIEW blend.queries_without_results WITH (security_invoker = true) AS
SELECT
    -- The query in lower case, or its digest (log_queries hash).
    lower(regexp_replace(btrim(l.query), '\s+', ' ', 'g')) AS query,
    count(*) AS searches,  -- How often it found nothing.
    max(l.searched_at) AS last_searched_at  -- When it did so last.
FROM pgblend_data.search_log AS l
WHERE l.purpose = 'search' AND l.result_count = 0 AND l.query IS NOT NULL
GROUP BY 1;
