-- _scale_fused: fused sums brought to the scale that blending and MMR see (setting fused_scale).
CREATE OR REPLACE FUNCTION pgblend._scale_fused(
    fused double precision[],
    attainable double precision,
    scale text
)
RETURNS double precision[]
LANGUAGE plpython3u
IMMUTABLE PARALLEL SAFE
STRICT
AS $python$
#include plpy/scale_fused.py
return scale_fused(fused, attainable, scale)
$python$;

COMMENT ON FUNCTION pgblend._scale_fused(double precision[], double precision, text) IS
'Fused sums brought to the scale that blending and MMR see (setting fused_scale).';
