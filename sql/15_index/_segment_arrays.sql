-- _segment_arrays: the stored arrays of segments (see plpy/lexical/segment.py).
CREATE OR REPLACE FUNCTION pgblend._segment_arrays(segment_ids bigint[])
RETURNS SETOF pgblend_data.segment
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.*  -- noqa: AM04
    FROM pgblend_data.segment AS s
    WHERE s.id = ANY(segment_ids)
    ORDER BY s.id;
END;
