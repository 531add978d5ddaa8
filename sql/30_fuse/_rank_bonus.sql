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
from pgblend.plpy.fusion.lists import rank_bonus

amounts, largest = rank_bonus([[rank] for rank in ranks], json.loads(bonus), attainable)
return amounts[0] if amounts else 0.0
$python$;
