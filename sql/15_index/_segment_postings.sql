-- _segment_postings: all postings of one segment as one row of arrays, in the order of terms.
CREATE OR REPLACE FUNCTION pgblend._segment_postings(segment_id bigint)
RETURNS TABLE (terms bytea, counts bytea, ordinals bytea, codes bytea)
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        string_agg(int8send(p.term), '' ORDER BY p.term) AS terms,
        string_agg(int4send(p.df), '' ORDER BY p.term) AS counts,
        string_agg(p.ordinals, '' ORDER BY p.term) AS ordinals,
        string_agg(p.codes, '' ORDER BY p.term) AS codes
    FROM pgblend_data.posting AS p
    WHERE p.segment_id = _segment_postings.segment_id;
END;

COMMENT ON FUNCTION pgblend._segment_postings(bigint) IS
'All postings of one segment as one row of arrays, in the order of terms.';
