-- _normalize_scores: normalize_scores of checked arguments.
CREATE OR REPLACE FUNCTION pgblend._normalize_scores(
    scores double precision[],
    method text,
    parameters jsonb
)
RETURNS double precision[]
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.search.scores import normalize_scores

return normalize_scores(scores, method, json.loads(parameters))
$python$;

-- normalize_scores: one list's scores on a scale that other lists share, in the order given.
-- minmax: (score - low) / (high - low), clamped to [0, 1], low and high being the list's own unless
-- given; zscore: (score - mean) / deviation, with `clamp` cut to it and brought to [0, 1];
-- logistic: 1 / (1 + exp(-(score - center) / scale)), center and scale being the list's mean and
-- deviation unless given. `epsilon` (1e-9) is the least range, deviation or scale: under it minmax
-- gives 1 to all and zscore 0. A NULL score stays NULL; NULL scores give NULL. Scores that are not
-- finite, unknown methods and parameters are errors. Formulas: plpy/search/scores.py.
CREATE OR REPLACE FUNCTION blend.normalize_scores(
    scores double precision[],
    method text DEFAULT 'minmax',
    parameters jsonb DEFAULT '{}'
)
RETURNS double precision[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    known text[] := CASE method
        WHEN 'minmax' THEN ARRAY['epsilon', 'low', 'high']
        WHEN 'zscore' THEN ARRAY['epsilon', 'clamp']
        WHEN 'logistic' THEN ARRAY['epsilon', 'center', 'scale'] END;
    wrong record;
BEGIN
    PERFORM pgblend._check_size('scores', cardinality(scores), 'items', 'array_items');
    IF known IS NULL THEN
        RAISE EXCEPTION 'method is %: expected minmax, zscore or logistic',
            coalesce(quote_literal(left(method, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'minmax is usual.';
    END IF;
    parameters := jsonb_strip_nulls(coalesce(parameters, '{}'));
    IF jsonb_typeof(parameters) <> 'object' THEN
        RAISE EXCEPTION 'parameters is %: expected a JSON object', left(parameters::text, 200)
            USING ERRCODE = '22023', HINT = format('Keys of %s: %s', method, known);
    END IF;
    SELECT e.key, e.value INTO wrong
    FROM jsonb_each(parameters) AS e
    WHERE e.key <> ALL(known) OR jsonb_typeof(e.value) <> 'number'
        OR abs((e.value #>> '{}')::numeric) > 1e100
        OR e.key IN ('epsilon', 'scale', 'clamp') AND (e.value #>> '{}')::numeric <= 0
    ORDER BY e.key COLLATE "C"
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'parameters of %: "%" is %: expected numbers to 1e100 for %, '
            'epsilon, scale and clamp above 0',
            method, left(wrong.key, 200), left(wrong.value::text, 200),
            array_to_string(known, ', ')
            USING ERRCODE = '22023', HINT = 'For example: {"low": 0}';
    ELSIF (parameters -> 'low')::numeric > (parameters -> 'high')::numeric THEN
        RAISE EXCEPTION 'parameters of minmax: "low" is %: expected at most "high", which is %',
            parameters -> 'low', parameters -> 'high'
            USING ERRCODE = '22023', HINT = 'Leave one out for the list''s own.';
    ELSIF EXISTS (SELECT FROM unnest(scores) AS s WHERE NOT s BETWEEN -1e100 AND 1e100) THEN
        RAISE EXCEPTION 'a score is %: expected finite numbers to 1e100', (
            SELECT s FROM unnest(scores) AS s WHERE NOT s BETWEEN -1e100 AND 1e100 LIMIT 1)
            USING ERRCODE = '22023', HINT = 'Use NULL for an item that the list lacks.';
    END IF;
    RETURN pgblend._normalize_scores(scores, method, parameters);
END;
$function$;
