-- search_results: the first ten rows of each search whose texts the caller may read.
CREATE OR REPLACE VIEW blend.search_results WITH (security_invoker = true) AS
SELECT
    l.search_id,  -- The search.
    l.searched_at,  -- When it was made.
    l.query,  -- The query, its digest or NULL (log_queries).
    (r.result ->> 'rank')::integer AS rank,  -- Place of the row, from 1.
    (r.result ->> 'document_id')::bigint AS document_id,  -- Its document.
    (r.result ->> 'chunk_id')::bigint AS chunk_id,  -- Its passage.
    (r.result ->> 'score')::double precision AS score  -- Its score.
FROM blend.searches AS l
CROSS JOIN LATERAL jsonb_array_elements(l.results) AS r (result);

-- search_volume: how many searches each hour had, by profile and mode, and how they went.
CREATE OR REPLACE VIEW blend.search_volume WITH (security_invoker = true) AS
SELECT
    date_trunc('hour', l.searched_at) AS hour,  -- Beginning of the hour.
    l.profile,  -- Profile.
    l.mode,  -- Mode: fast, default or thorough.
    count(*) AS searches,  -- Number of searches.
    count(*) FILTER (WHERE l.result_count = 0) AS without_results,  -- Those that found nothing.
    -- Those that went on without a stage.
    count(*) FILTER (WHERE l.degraded_stages <> '{}') AS degraded,
    -- Their share, from 0 to 1.
    avg((l.degraded_stages <> '{}')::integer)::double precision AS degraded_share
FROM blend.searches AS l
GROUP BY 1, 2, 3;

-- search_latency: how long searches took each hour, in all (stage NULL) and by stage.
CREATE OR REPLACE VIEW blend.search_latency WITH (security_invoker = true) AS
WITH timing AS (
    SELECT
        l.searched_at,
        NULL::text AS stage,
        l.milliseconds
    FROM blend.searches AS l
    UNION ALL
    SELECT
        s.searched_at,
        s.stage,
        s.milliseconds
    FROM blend.search_stages AS s
    WHERE s.milliseconds IS NOT NULL
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

-- search_stages: the stages of all searches, one row each.
CREATE OR REPLACE VIEW blend.search_stages WITH (security_invoker = true) AS
SELECT
    l.search_id,  -- The search.
    l.searched_at,  -- When it was made.
    s.stage ->> 'name' AS stage,  -- Name of the stage.
    (s.stage ->> 'ms')::double precision AS milliseconds,  -- How long it took.
    (s.stage ->> 'rows')::bigint AS row_count  -- Rows that it gave; NULL where it gives none.
FROM blend.searches AS l
CROSS JOIN LATERAL jsonb_array_elements(l.stages) AS s (stage);

-- degraded_searches: what searches went on without, a day and a stage.
CREATE OR REPLACE VIEW blend.degraded_searches WITH (security_invoker = true) AS
WITH daily AS (
    SELECT
        date_trunc('day', l.searched_at) AS day,
        count(*) AS searches
    FROM blend.searches AS l
    GROUP BY 1
),

without AS (
    SELECT
        date_trunc('day', l.searched_at) AS day,
        d.stage,
        count(DISTINCT l.search_id) AS searches,
        mode() WITHIN GROUP (ORDER BY d.reason) AS most_often
    FROM blend.searches AS l
    CROSS JOIN LATERAL unnest(l.degraded_stages, l.degraded) AS d (stage, reason)
    GROUP BY 1, 2
)

SELECT
    w.day,  -- Beginning of the day.
    w.stage,  -- The stage that was left out.
    w.searches,  -- Number of searches without it.
    w.searches::double precision / a.searches AS share,  -- Their share of the day's searches.
    -- The reason given most often, of searches whose texts the caller may read.
    w.most_often
FROM without AS w
INNER JOIN daily AS a ON w.day = a.day;

-- queries_without_results: queries that found nothing, whatever their case and spaces, of searches
-- whose texts the caller may read.
CREATE OR REPLACE VIEW blend.queries_without_results WITH (security_invoker = true) AS
SELECT
    -- The query in lower case, or its digest (log_queries hash).
    lower(regexp_replace(btrim(l.query), E'\\s+', ' ', 'g')) AS query,
    count(*) AS searches,  -- How often it found nothing.
    max(l.searched_at) AS last_searched_at  -- When it did so last.
FROM blend.searches AS l
WHERE l.result_count = 0 AND l.query IS NOT NULL
GROUP BY 1;

-- searches: the searches of the log, newest last; counts and times of all of them, and texts and
-- results of those over collections that the caller may read. Evaluations, facets, explanations,
-- diagnoses and what the page asks while one types are left out.
-- It runs with its owner's rights, since only admins read the log, and asks itself what its reader
-- may see. A search whose list of collections may have been cut in the log shows its texts to
-- admins alone, and so does one over a collection that was removed, though another has its name.
CREATE OR REPLACE VIEW blend.searches WITH (security_barrier = true) AS
WITH logged AS (
    SELECT
        l.search_id,
        l.searched_at,
        l.role_name,
        l.query,
        l.collections,
        l.profile,
        l.mode,
        l.result_count,
        l.milliseconds,
        l.stages,
        l.degraded,
        l.top_score,
        l.results,
        (SELECT pg_has_role('pgblend_admin', 'USAGE'))
        OR cardinality(l.collections) > 0
        AND cardinality(l.collections) < 50
        AND NOT EXISTS (
            SELECT FROM unnest(l.collections) AS s (name)
            WHERE
                char_length(s.name) = 100
                OR coalesce(
                    ((SELECT pgblend._readable_collections()) ->> s.name)::numeric
                    > extract(EPOCH FROM l.searched_at),
                    true
                )
        ) AS may_read
    FROM pgblend_data.search_log AS l
    WHERE l.purpose = 'search'
)

SELECT
    l.search_id,  -- Id of the search, as its rows have it in details.
    l.searched_at,  -- When it was made.
    l.profile,  -- Profile.
    l.mode,  -- Mode: fast, default or thorough.
    l.result_count,  -- Number of its rows.
    l.milliseconds,  -- How long it took.
    l.stages,  -- Its stages: [{"name", "ms", "rows"}, …].
    -- Stages that it went on without.
    ARRAY(
        SELECT split_part(d.reason, ':', 1) FROM unnest(l.degraded) AS d (reason)
    ) AS degraded_stages,
    -- Whether the caller may read all its collections; where not, what follows is NULL.
    l.may_read,
    CASE WHEN l.may_read THEN l.role_name END AS searched_by,  -- Role that searched.
    -- The query, its digest or NULL (log_queries).
    CASE WHEN l.may_read THEN l.query END AS query,
    CASE WHEN l.may_read THEN l.collections END AS collections,  -- Collections that were searched.
    CASE WHEN l.may_read THEN l.degraded END AS degraded,  -- What it went on without, and why.
    CASE WHEN l.may_read THEN l.top_score END AS top_score,  -- Score of its first row.
    -- Its first ten rows: [{"rank", "chunk_id", "document_id", "score"}, …].
    CASE WHEN l.may_read THEN l.results END AS results
FROM logged AS l;

-- model_costs: what calls to models cost, a day, task and model.
CREATE OR REPLACE VIEW blend.model_costs WITH (security_invoker = true) AS
SELECT
    date_trunc('day', c.called_at) AS day,  -- Beginning of the day.
    -- What was asked for, as `pgblend models list` names it; chat: calls of other clients.
    CASE c.task WHEN 'hyde' THEN 'expansion' ELSE c.task END AS task,
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

-- _readable_collections: the collections that the caller may read, as {name: when it was made}.
-- Times are in seconds since 1970. {} where the caller may read none.
CREATE OR REPLACE FUNCTION pgblend._readable_collections()
RETURNS jsonb
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(jsonb_object_agg(c.name, extract(EPOCH FROM c.created_at)), '{}')
    FROM pgblend_data.collection AS c;
END;
