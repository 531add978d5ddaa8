-- search_latency: how long searches took each hour, in all (stage NULL) and by stage.
CREATE OR REPLACE VIEW blend.search_latency WITH (security_invoker = true) AS
WITH timing AS (
    SELECT
        l.searched_at,
        NULL::text AS stage,
        l.milliseconds
    FROM pgblend_data.search_log AS l
    WHERE l.purpose = 'search'
    UNION ALL
    SELECT
        l.searched_at,
        s.stage ->> 'name' AS stage,
        (s.stage ->> 'ms')::double precision AS milliseconds
    FROM pgblend_data.search_log AS l
    CROSS JOIN LATERAL jsonb_array_elements(l.stages) AS s (stage)
    WHERE l.purpose = 'search' AND s.stage ->> 'ms' IS NOT NULL
)

SELECT
    date_trunc('hour', t.searched_at) AS hour,  -- Beginning of the hour.
    t.stage,  -- Stage; NULL for the whole search.
    count(*) AS searches,  -- Number of searches that ran it.
    -- Median, in milliseconds.
    percentile_cont(0.5) WITHIN GROUP (ORDER BY t.milliseconds) AS p50_ms,
    -- 95 % took at most this long.
    percentile_cont(0.95) WITHIN GROUP (ORDER BY t.milliseconds) AS p95_ms,
    -- 99 % took at most this long.
    percentile_cont(0.99) WITHIN GROUP (ORDER BY t.milliseconds) AS p99_ms,
    max(t.milliseconds) AS max_ms  -- The longest.
FROM timing AS t
GROUP BY 1, 2;
