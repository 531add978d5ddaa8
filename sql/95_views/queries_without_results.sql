-- queries_without_results: queries that found nothing, whatever their case and spaces.
CREATE OR REPLACE VIEW blend.queries_without_results WITH (security_invoker = true) AS
SELECT
    lower(regexp_replace(btrim(l.query), '\s+', ' ', 'g')) AS query,
    count(*) AS searches,
    max(l.searched_at) AS last_searched_at
FROM pgblend_data.search_log AS l
WHERE l.purpose = 'search' AND l.result_count = 0 AND l.query IS NOT NULL
GROUP BY 1;

COMMENT ON COLUMN blend.queries_without_results.query IS
'The query in lower case, or its digest (log_queries hash).';
COMMENT ON COLUMN blend.queries_without_results.searches IS 'How often it found nothing.';
COMMENT ON COLUMN blend.queries_without_results.last_searched_at IS 'When it did so last.';
