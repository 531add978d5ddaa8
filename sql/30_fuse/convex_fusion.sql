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
