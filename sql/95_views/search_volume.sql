-- search_volume: how many searches each hour had, by profile and mode, and how they went.
CREATE OR REPLACE VIEW blend.search_volume WITH (security_invoker = true) AS
SELECT
    date_trunc('hour', l.searched_at) AS hour,  -- Beginning of the hour.
    l.profile,  -- Profile.
    l.mode,  -- Mode: fast, default or thorough.
    count(*) AS searches,  -- Number of searches.
    count(*) FILTER (WHERE l.result_count = 0) AS without_results,  -- Those that found nothing.
    -- Those that went on without a stage.
    count(*) FILTER (WHERE cardinality(l.degraded) > 0) AS degraded,
    -- Their share, from 0 to 1.
    avg((cardinality(l.degraded) > 0)::integer)::double precision AS degraded_share
FROM pgblend_data.search_log AS l
WHERE l.purpose = 'search'
GROUP BY 1, 2, 3;
