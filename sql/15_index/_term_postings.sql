-- _term_postings: the postings of some terms in some segments as one row of arrays, by term, then
-- in the order of segment_ids.
-- terms, segments (places in segment_ids, from 1) and counts are of each list, ordinals and codes
-- those of all lists, one after the other; NULL for none. A join with the segments would read the
-- whole index where the table has not been analyzed.
CREATE OR REPLACE FUNCTION pgblend._term_postings(segment_ids bigint[], wanted bigint[])
RETURNS TABLE (
    terms bigint[], segments integer[], counts integer[], ordinals bytea, codes bytea
)
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        array_agg(l.term) AS terms,
        array_agg(l.place) AS segments,
        array_agg(l.df) AS counts,
        string_agg(l.ordinals, '') AS ordinals,
        string_agg(l.codes, '') AS codes
    FROM (
        SELECT
            p.term,
            p.df,
            p.ordinals,
            p.codes,
            array_position(segment_ids, p.segment_id) AS place
        FROM pgblend_data.posting AS p
        WHERE p.segment_id = ANY(segment_ids) AND p.term = ANY(wanted)
        ORDER BY p.term ASC, place ASC
    ) AS l;
END;

COMMENT ON FUNCTION pgblend._term_postings(bigint[], bigint[]) IS
'The postings of some terms in some segments as one row of arrays, by term, then in the order of '
'segment_ids.';
