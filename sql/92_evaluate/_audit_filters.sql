-- _audit_filters: the filters that an audit tries, each with the share of passages that pass it.
-- Given filters stand for themselves (one that is NULL for none). NULL stands for no filter and, of
-- the documents' own metadata, the equal conditions nearest to a tenth, a hundredth and a
-- thousandth of the documents, where any is within a factor of 3.
CREATE OR REPLACE FUNCTION pgblend._audit_filters(collection_ids bigint[], filters jsonb[])
RETURNS TABLE (filter jsonb, selectivity double precision)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 4
AS $function$
#variable_conflict use_column
DECLARE
    total bigint;
BEGIN
    IF filters IS NOT NULL THEN
        total := (
            SELECT count(*) FROM pgblend_data.chunk AS c
            WHERE c.collection_id = ANY(collection_ids));
        RETURN QUERY SELECT f.filter,
            coalesce(cardinality(pgblend._filter_chunks(f.filter, collection_ids, NULL)), 0)
                / nullif(total, 0)::double precision
        FROM unnest(filters) WITH ORDINALITY AS f (filter, place) ORDER BY f.place;
        RETURN;
    END IF;
    total := (
        SELECT count(*) FROM pgblend_data.document AS d
        WHERE d.collection_id = ANY(collection_ids));
    RETURN QUERY SELECT NULL::jsonb, 1::double precision;
    RETURN QUERY
    WITH share AS MATERIALIZED (
        SELECT m.key, m.value, count(*)::double precision / total AS share
        FROM pgblend_data.document AS d
        CROSS JOIN LATERAL jsonb_each(d.metadata) AS m
        WHERE d.collection_id = ANY(collection_ids)
            AND jsonb_typeof(m.value) IN ('string', 'number', 'boolean')
        GROUP BY m.key, m.value
    )
    SELECT jsonb_build_object(n.key, n.value), n.share
    FROM unnest(ARRAY[0.1, 0.01, 0.001]) AS target
    CROSS JOIN LATERAL (
        SELECT s.* FROM share AS s
        WHERE abs(ln(s.share / target)) < ln(3)
        ORDER BY abs(ln(s.share / target)), s.key COLLATE "C", s.value LIMIT 1
    ) AS n
    ORDER BY target DESC;
END;
$function$;
