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
