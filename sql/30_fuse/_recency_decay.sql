-- _recency_decay: recency_decay of whole arrays, unchecked: plpy/recency_decay.py.
CREATE OR REPLACE FUNCTION pgblend._recency_decay(
    scores double precision[],
    ages_days double precision[],
    half_life_days double precision
)
RETURNS double precision[]
LANGUAGE plpython3u
IMMUTABLE PARALLEL SAFE
AS $python$
#include plpy/recency_decay.py
return recency_decay(scores, ages_days, half_life_days)
$python$;

COMMENT ON FUNCTION pgblend._recency_decay(
    double precision[], double precision[], double precision
) IS 'score · 0.5^(age / half-life) of each item of arrays; a NULL half-life changes nothing.';
