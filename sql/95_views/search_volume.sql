-- search_volume: how many searches each hour had, by profile and mode, and how they went.
CREATE OR REPLACE VIEW blend.search_volume WITH (security_invoker = true) AS
SELECT
    date_trunc('hour', l.searched_at) AS hour,
    l.profile,
    l.mode,
    count(*) AS searches,
    count(*) FILTER (WHERE l.result_count = 0) AS without_results,
    count(*) FILTER (WHERE cardinality(l.degraded) > 0) AS degraded,
    avg((cardinality(l.degraded) > 0)::integer)::double precision AS degraded_share
FROM pgblend_data.search_log AS l
WHERE l.purpose = 'search'
GROUP BY 1, 2, 3;

COMMENT ON COLUMN blend.search_volume.hour IS 'Beginning of the hour.';
COMMENT ON COLUMN blend.search_volume.profile IS 'Profile.';
COMMENT ON COLUMN blend.search_volume.mode IS 'Mode: fast, default or thorough.';
COMMENT ON COLUMN blend.search_volume.searches IS 'Number of searches.';
COMMENT ON COLUMN blend.search_volume.without_results IS 'Those that found nothing.';
COMMENT ON COLUMN blend.search_volume.degraded IS 'Those that went on without a stage.';
COMMENT ON COLUMN blend.search_volume.degraded_share IS 'Their share, from 0 to 1.';
