-- _term_postings: the postings of some terms in some segments as one row of arrays, by term, then
-- in the order of segment_ids.
-- terms, segments (places in segment_ids, from 1) and counts are of each list, ordinals and codes
-- those of all lists, one after the other; NULL for none.
CREATE OR REPLACE FUNCTION pgblend._term_postings(segment_ids bigint[], wanted bigint[])
RETURNS TABLE (
    terms bigint[], segments integer[], counts integer[], ordinals bytea, codes bytea
)
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        array_agg(l.term) AS terms,
        array_agg(l.place::integer) AS segments,
        array_agg(l.df) AS counts,
        string_agg(l.ordinals, '') AS ordinals,
        string_agg(l.codes, '') AS codes
    FROM (
        SELECT
            p.term,
            s.place,
            p.df,
            p.ordinals,
            p.codes
        FROM unnest(segment_ids) WITH ORDINALITY AS s (id, place)
        INNER JOIN pgblend_data.posting AS p ON s.id = p.segment_id
        WHERE p.term = ANY(wanted)
        ORDER BY p.term, s.place
    ) AS l;
END;

COMMENT ON FUNCTION pgblend._term_postings(bigint[], bigint[]) IS
'The postings of some terms in some segments as one row of arrays, by term, then in the order of '
'segment_ids.';
