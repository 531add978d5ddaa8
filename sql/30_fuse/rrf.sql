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
