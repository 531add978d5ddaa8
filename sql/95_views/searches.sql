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

-- search_latency: how long searches took each hour, in all (stage NULL) and by stage.
CREATE OR REPLACE VIEW blend.search_latency WITH (security_invoker = true) AS
SELECT
    date_trunc('hour', l.searched_at) AS hour,  -- Beginning of the hour.
    t.stage,  -- Stage; NULL for the whole search.
    count(*) AS searches,  -- Number of searches that ran it.
    -- Median, in milliseconds.
    percentile_cont(0.5) WITHIN GROUP (ORDER BY t.milliseconds) AS p50_ms,
    -- 95 % took at most this long.
    percentile_cont(0.95) WITHIN GROUP (ORDER BY t.milliseconds) AS p95_ms,
    -- 99 % took at most this long.
    percentile_cont(0.99) WITHIN GROUP (ORDER BY t.milliseconds) AS p99_ms,
    max(t.milliseconds) AS max_ms  -- The longest.
FROM pgblend_data.search_log AS l
CROSS JOIN LATERAL (
    SELECT
        NULL::text AS stage,
        l.milliseconds
    UNION ALL
    SELECT
        s.stage ->> 'name' AS stage,
        (s.stage ->> 'ms')::double precision AS milliseconds
    FROM jsonb_array_elements(l.stages) AS s (stage)
    WHERE s.stage ->> 'ms' IS NOT NULL
) AS t
WHERE l.purpose = 'search'
GROUP BY 1, 2;

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

-- model_costs: what calls to models cost, a day, task and model.
CREATE OR REPLACE VIEW blend.model_costs WITH (security_invoker = true) AS
SELECT
    date_trunc('day', c.called_at) AS day,  -- Beginning of the day.
    c.task,  -- What was asked for: embedding, rerank, expansion, hyde, answer, …
    c.model,  -- Model.
    count(*) AS calls,  -- Number of calls; answers from a cache are none.
    count(*) FILTER (WHERE c.outcome <> 'ok') AS failed,  -- Those that gave no answer.
    sum(c.input_tokens)::bigint AS input_tokens,  -- Tokens that the model read.
    sum(c.output_tokens)::bigint AS output_tokens,  -- Tokens that it wrote.
    -- Their price in US dollars by litellm's list; NULL where it has none.
    sum(c.cost_usd) AS cost_usd,
    -- Calls that are not in cost_usd.
    count(*) FILTER (WHERE c.outcome = 'ok' AND c.cost_usd IS NULL) AS without_price,
    -- Median time of a call in milliseconds.
    percentile_cont(0.5) WITHIN GROUP (ORDER BY c.milliseconds) AS p50_ms,
    -- 95 % took at most this long.
    percentile_cont(0.95) WITHIN GROUP (ORDER BY c.milliseconds) AS p95_ms
FROM pgblend_data.model_call AS c
GROUP BY 1, 2, 3;
