-- _normalize_arm: one arm's scores as the setting normalization asks.
-- `low` and `high` are the arm's lowest and highest possible scores.
CREATE OR REPLACE FUNCTION pgblend._normalize_arm(
    scores double precision[],
    normalization jsonb,
    arm text,
    low double precision,
    high double precision
)
RETURNS double precision[]
LANGUAGE plpython3u
IMMUTABLE PARALLEL SAFE
STRICT
AS $python$
#include plpy/arm_normalization.py
#include plpy/normalize_scores.py
import json
return normalize_scores(scores, *arm_normalization(json.loads(normalization), arm, low, high))
$python$;

COMMENT ON FUNCTION pgblend._normalize_arm(
    double precision[], jsonb, text, double precision, double precision
) IS 'One arm''s scores as the setting normalization asks; low and high are its possible scores.';
