-- rrf: reciprocal rank fusion of one item's ranks: Σ weight / (k + rank), ranks from 1.
-- A NULL rank (the item is not in that list) adds nothing. NULL weights are all 1. Normalized, the
-- sum is divided by what an item first in every list would get, so it lies in [0, 1]. No ranks give
-- 0. Ranks under 1, a negative k, weights but 0 and 1e-100 to 1e100, and unequal lengths are
-- errors. The formula is that of plpy/search/fusion.py, bit for bit: terms are added from the
-- smallest. Source: Cormack, Clarke and Büttcher 2009.
CREATE OR REPLACE FUNCTION blend.rrf(
    ranks integer[],
    weights double precision[] DEFAULT NULL,
    k double precision DEFAULT 60,
    normalized boolean DEFAULT false
)
RETURNS double precision
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    terms double precision[] := '{}';
    perfect double precision[] := '{}';
    weight double precision;
BEGIN
    PERFORM pgblend._check_size('ranks', cardinality(ranks), 'items', 'array_items');
    IF k IS NULL OR NOT k BETWEEN 0 AND 1e100 THEN
        RAISE EXCEPTION 'k is %: expected a number from 0 to 1e100', coalesce(k::text, 'NULL')
            USING ERRCODE = '22023', HINT = '60 is usual.';
    ELSIF weights IS NOT NULL AND cardinality(weights) <> cardinality(ranks) THEN
        RAISE EXCEPTION 'there are % ranks and % weights', cardinality(ranks), cardinality(weights)
            USING ERRCODE = '22023', HINT = 'Give one weight for each rank, or NULL for all 1.';
    END IF;
    FOR i IN 1..coalesce(cardinality(ranks), 0) LOOP
        weight := CASE WHEN weights IS NULL THEN 1 ELSE weights[i] END;
        IF ranks[i] < 1 OR weight IS NULL OR NOT (weight = 0 OR weight BETWEEN 1e-100 AND 1e100)
        THEN
            RAISE EXCEPTION 'rank % has weight %: ranks start at 1, weights are 0 or from 1e-100 to '
                '1e100', coalesce(ranks[i]::text, 'NULL'), coalesce(weight::text, 'NULL')
                USING ERRCODE = '22023', HINT = 'Use NULL for a list that lacks the item.';
        END IF;
        terms[i] := coalesce(weight / (k + ranks[i]), 0);
        perfect[i] := weight / (k + 1);
    END LOOP;
    RETURN (
        SELECT coalesce(sum(t.term ORDER BY t.term), 0)
            / CASE WHEN normalized AND 0 < ANY(perfect) THEN sum(t.best ORDER BY t.best) ELSE 1 END
        FROM unnest(terms, perfect) AS t (term, best));
END;
$function$;

-- convex_fusion: one item's normalised scores as their weighted mean: Σ weight · score / Σ weight.
-- A NULL score (the item is not in that list) counts as 0. NULL weights are all 1; weights that are
-- all 0, and no scores, give 0. Weights but 0 and 1e-100 to 1e100, scores beyond 1e100 and unequal
-- lengths are errors. Formula: plpy/search/scores.py. Source: Bruch, Gai and Ingber 2023.
CREATE OR REPLACE FUNCTION blend.convex_fusion(
    scores double precision[],
    weights double precision[] DEFAULT NULL
)
RETURNS double precision
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    n integer := coalesce(cardinality(scores), 0);
BEGIN
    PERFORM pgblend._check_size('scores', cardinality(scores), 'items', 'array_items');
    IF weights IS NULL THEN
        weights := array_fill(1::double precision, ARRAY[n]);
    ELSIF cardinality(weights) <> n THEN
        RAISE EXCEPTION 'there are % scores and % weights', n, cardinality(weights)
            USING ERRCODE = '22023', HINT = 'Give one weight for each score, or NULL for all 1.';
    END IF;
    FOR i IN 1..n LOOP
        IF weights[i] IS NULL OR NOT (weights[i] = 0 OR weights[i] BETWEEN 1e-100 AND 1e100)
            OR NOT scores[i] BETWEEN -1e100 AND 1e100
        THEN
            RAISE EXCEPTION 'score % has weight %: scores reach to 1e100, weights are 0 or from '
                '1e-100 to 1e100',
                coalesce(scores[i]::text, 'NULL'), coalesce(weights[i]::text, 'NULL')
                USING ERRCODE = '22023', HINT = 'Use NULL for a list that lacks the item.';
        END IF;
    END LOOP;
    RETURN CASE WHEN n > 0 THEN pgblend._convex_fusion(scores, weights) ELSE 0 END;
END;
$function$;

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

-- rank_bonus: what an item's high ranks add to its fused sum.
-- {"kind": "both_top", "depth": 5, "amount": 0.1}: where at least two lists have it in their first
-- `depth`; {"kind": "tiers", "tiers": [{"max_rank": 1, "amount": 0.05}, …]}: by its best rank in
-- any list, once; {"kind": "none"}: 0. With "unit": "attainable" amounts are fractions of
-- `attainable`, which is 1 for a sum in [0, 1]. A NULL rank is a list that lacks the item; no ranks
-- and a NULL bonus give 0. Ranks under 1 and a bonus of another shape are errors. Formula:
-- plpy/search/fusion.py.
CREATE OR REPLACE FUNCTION blend.rank_bonus(
    ranks integer[],
    bonus jsonb,
    attainable double precision DEFAULT 1
)
RETURNS double precision
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    problem text := pgblend._setting_error('bonus', bonus);
BEGIN
    PERFORM pgblend._check_size('ranks', cardinality(ranks), 'items', 'array_items');
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION 'bonus is %: %', left(bonus::text, 200), problem
            USING ERRCODE = '22023',
            HINT = 'For example: {"kind": "both_top", "depth": 5, "amount": 0.1}';
    ELSIF 1 > ANY(ranks) THEN
        RAISE EXCEPTION 'ranks are %: ranks start at 1', ranks
            USING ERRCODE = '22023', HINT = 'Use NULL for a list that lacks the item.';
    ELSIF attainable IS NULL OR NOT attainable BETWEEN 0 AND 1e100 THEN
        RAISE EXCEPTION 'attainable is %: expected a number from 0 to 1e100',
            coalesce(attainable::text, 'NULL')
            USING ERRCODE = '22023', HINT = 'It is 1 for a sum in [0, 1].';
    END IF;
    RETURN coalesce(pgblend._rank_bonus(ranks, nullif(bonus, 'null'), attainable), 0);
END;
$function$;

-- recency_decay: a score that halves with each half-life of age: score · 0.5^(age / half-life).
-- Ages below 0 (dates to come) count as 0, and so does a NULL age. A NULL score stays NULL, a NULL
-- half-life changes nothing; one that is not above 0, and a negative score, are errors. The formula
-- is that of plpy/search/fusion.py.
CREATE OR REPLACE FUNCTION blend.recency_decay(
    score double precision,
    age_days double precision,
    half_life_days double precision
)
RETURNS double precision
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
    IF NOT half_life_days BETWEEN 1e-6 AND 1e6 THEN
        RAISE EXCEPTION 'half_life_days is %: expected a number of days from 0.000001 to 1000000',
            half_life_days
            USING ERRCODE = '22023', HINT = 'NULL is no decay.';
    ELSIF NOT score BETWEEN 0 AND 1e100 THEN
        RAISE EXCEPTION 'score is %: expected a number from 0 to 1e100', score
            USING ERRCODE = '22023', HINT = 'normalize_scores brings scores to [0, 1].';
    END IF;
    RETURN CASE
        WHEN half_life_days IS NULL THEN score
        ELSE score * 0.5 ^ least(greatest(coalesce(age_days, 0), 0) / half_life_days, 1000)
    END;
END;
$function$;

-- graph_score: cosine plus 1 / (1 + depth), each 0 where it is NULL (did not find the node).
-- Depth 0 is a seed itself. Two NULLs give 0. A negative depth and a cosine outside [-1, 1] are
-- errors. For nodes found by their vector, through the graph, or both; it can reach 2.
CREATE OR REPLACE FUNCTION blend.graph_score(cosine double precision, depth integer)
RETURNS double precision
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
    IF depth < 0 THEN
        RAISE EXCEPTION 'depth is %: expected a number from 0', depth
            USING ERRCODE = '22023', HINT = 'A seed itself has depth 0.';
    ELSIF NOT cosine BETWEEN -1 AND 1 THEN
        RAISE EXCEPTION 'cosine is %: expected a number from -1 to 1', cosine
            USING ERRCODE = '22023', HINT = 'Use NULL where the vector did not find it.';
    END IF;
    RETURN coalesce(cosine, 0) + coalesce(1 / (1 + depth)::double precision, 0);
END;
$function$;

-- blend_scores: one item's fused and rerank scores blended by its fused rank.
-- {"kind": "tiers", "tiers": [{"max_rank": 3, "fused": 0.75, "rerank": 0.25}, …]}: the first tier
-- that reaches the rank, or else the last, gives the weights (max_rank null: to the end).
-- {"kind": "position", "rerank": 0.5, "fused": 0.3, "position": 0.2}: with 1 - (rank - 1) /
-- `candidates` as a third part, candidates being how many were reranked. The blend is the mean by
-- these weights. A NULL blend is the default of the setting. A NULL rerank score (not reranked)
-- leaves the fused score; a NULL fused score gives NULL. Ranks under 1 or beyond candidates,
-- scores that are not finite and a blend of another shape are errors. Formula:
-- plpy/search/rerank.py.
CREATE OR REPLACE FUNCTION blend.blend_scores(
    fused double precision,
    rerank double precision,
    rank integer,
    blend jsonb DEFAULT NULL,
    candidates integer DEFAULT NULL
)
RETURNS double precision
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    given jsonb := coalesce(nullif(blend, 'null'), (
        SELECT c.default_value FROM pgblend._setting_catalog() AS c WHERE c.name = 'blend'));
    problem text := pgblend._setting_error('blend', given);
BEGIN
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION 'blend is %: %', left(given::text, 200), problem
            USING ERRCODE = '22023',
            HINT = 'SELECT default_value FROM blend.setting_catalog() WHERE name = ''blend''';
    ELSIF rank IS NULL OR rank < 1 OR rank > candidates THEN
        RAISE EXCEPTION 'rank is %: expected a number from 1 to candidates, which is %',
            coalesce(rank::text, 'NULL'), coalesce(candidates::text, 'NULL')
            USING ERRCODE = '22023', HINT = 'It is the place in the order of the fused scores.';
    ELSIF candidates IS NULL AND given ->> 'kind' = 'position' THEN
        RAISE EXCEPTION 'candidates is NULL: a blend by position needs the number of reranked rows'
            USING ERRCODE = '22023', HINT = 'For example: candidates => count(*) OVER ()';
    ELSIF NOT fused BETWEEN -1e100 AND 1e100 OR NOT rerank BETWEEN -1e100 AND 1e100 THEN
        RAISE EXCEPTION 'scores are % and %: expected finite numbers to 1e100', fused, rerank
            USING ERRCODE = '22023', HINT = 'Use NULL for a row that was not reranked.';
    ELSIF fused IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN pgblend._blend_score(fused, rerank, rank, given, coalesce(candidates, rank));
END;
$function$;

-- _blend_score: blend_scores of checked arguments.
CREATE OR REPLACE FUNCTION pgblend._blend_score(
    fused double precision,
    rerank double precision,
    rank integer,
    blend jsonb,
    candidates integer
)
RETURNS double precision
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.search.rerank import blend_scores

return blend_scores([fused], [rerank], json.loads(blend), [rank], candidates)[0]
$python$;

-- _convex_fusion: convex_fusion of checked arguments.
CREATE OR REPLACE FUNCTION pgblend._convex_fusion(
    scores double precision[],
    weights double precision[]
)
RETURNS double precision
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.search.scores import convex_fusion

return convex_fusion([[score or 0.0] for score in scores], weights)[0]
$python$;

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

-- _rank_bonus: rank_bonus of checked arguments.
CREATE OR REPLACE FUNCTION pgblend._rank_bonus(
    ranks integer[],
    bonus jsonb,
    attainable double precision
)
RETURNS double precision
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.search.fusion import rank_bonus

amounts, largest = rank_bonus([[rank] for rank in ranks], json.loads(bonus), attainable)
return amounts[0] if amounts else 0.0
$python$;
