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
    w.day,  -- Beginning of the day.
    w.stage,  -- The stage that was left out.
    w.searches,  -- Number of searches without it.
    w.searches::double precision / a.searches AS share,  -- Their share of the day's searches.
    w.most_often  -- The reason given most often.
FROM without AS w
INNER JOIN daily AS a ON w.day = a.day;
