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
