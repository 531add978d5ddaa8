-- degraded_searches: what searches went on without, a day and a stage.
CREATE OR REPLACE VIEW blend.degraded_searches WITH (security_invoker = true) AS
WITH daily AS (
    SELECT
        date_trunc('day', l.searched_at) AS day,
        count(*) AS searches
    FROM pgblend_data.search_log AS l
    WHERE l.purpose = 'search'
    GROUP BY 1
),

without AS (
    SELECT
        date_trunc('day', l.searched_at) AS day,
        split_part(d.reason, ':', 1) AS stage,
        count(DISTINCT l.search_id) AS searches,
        mode() WITHIN GROUP (ORDER BY d.reason) AS most_often
    FROM pgblend_data.search_log AS l
    CROSS JOIN LATERAL unnest(l.degraded) AS d (reason)
    WHERE l.purpose = 'search'
    GROUP BY 1, 2
)

SELECT
    w.day,
    w.stage,
    w.searches,
    w.searches::double precision / a.searches AS share,
    w.most_often
FROM without AS w
INNER JOIN daily AS a ON w.day = a.day;

COMMENT ON COLUMN blend.degraded_searches.day IS 'Beginning of the day.';
COMMENT ON COLUMN blend.degraded_searches.stage IS 'The stage that was left out.';
COMMENT ON COLUMN blend.degraded_searches.searches IS 'Number of searches without it.';
COMMENT ON COLUMN blend.degraded_searches.share IS 'Their share of the day''s searches.';
COMMENT ON COLUMN blend.degraded_searches.most_often IS 'The reason given most often.';
