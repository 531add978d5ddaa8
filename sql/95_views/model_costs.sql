-- model_costs: what calls to models cost, a day, task and model.
CREATE OR REPLACE VIEW blend.model_costs WITH (security_invoker = true) AS
SELECT
    date_trunc('day', c.called_at) AS day,
    c.task,
    c.model,
    count(*) AS calls,
    count(*) FILTER (WHERE c.outcome <> 'ok') AS failed,
    sum(c.input_tokens)::bigint AS input_tokens,
    sum(c.output_tokens)::bigint AS output_tokens,
    sum(c.cost_usd) AS cost_usd,
    count(*) FILTER (WHERE c.outcome = 'ok' AND c.cost_usd IS NULL) AS without_price,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY c.milliseconds) AS p50_ms,
    percentile_cont(0.95) WITHIN GROUP (ORDER BY c.milliseconds) AS p95_ms
FROM pgblend_data.model_call AS c
GROUP BY 1, 2, 3;

COMMENT ON COLUMN blend.model_costs.day IS 'Beginning of the day.';
COMMENT ON COLUMN blend.model_costs.task IS
'What was asked for: embedding, rerank, expansion, hyde, answer, …';
COMMENT ON COLUMN blend.model_costs.model IS 'Model.';
COMMENT ON COLUMN blend.model_costs.calls IS 'Number of calls; answers from a cache are none.';
COMMENT ON COLUMN blend.model_costs.failed IS 'Those that gave no answer.';
COMMENT ON COLUMN blend.model_costs.input_tokens IS 'Tokens that the model read.';
COMMENT ON COLUMN blend.model_costs.output_tokens IS 'Tokens that it wrote.';
COMMENT ON COLUMN blend.model_costs.cost_usd IS
'Their price in US dollars by litellm''s list; NULL where it has none.';
COMMENT ON COLUMN blend.model_costs.without_price IS 'Calls that are not in cost_usd.';
COMMENT ON COLUMN blend.model_costs.p50_ms IS 'Median time of a call in milliseconds.';
COMMENT ON COLUMN blend.model_costs.p95_ms IS '95 % took at most this long.';
