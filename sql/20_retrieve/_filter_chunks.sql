-- _filter_chunks: the chunks of collections that pass a filter, in no order; NULL where more than
-- `most` do.
-- A NULL `most` asks for all. A NULL filter lets all pass. Where the filter asks for values that
-- metadata contain, GIN indexes find them. Otherwise documents are looked at once each, for the
-- chunks that have none of the filter's keys themselves, and then the chunks that do.
CREATE OR REPLACE FUNCTION pgblend._filter_chunks(
    filter jsonb,
    collection_ids bigint[],
    most integer
)
RETURNS bigint[]
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    compiled record;
    by_document text := 'SELECT c.id FROM pgblend_data.document AS d
        INNER JOIN pgblend_data.chunk AS c ON c.document_id = d.id
        WHERE d.collection_id = ANY($1) AND ';
    by_chunk text := 'SELECT c.id FROM pgblend_data.chunk AS c
        INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
        WHERE c.collection_id = ANY($1) AND c.metadata <> ''{}'' AND ';
    statement text;
    passing bigint[];
BEGIN
    SELECT f.* INTO compiled FROM pgblend._filter_condition(coalesce(filter, '{}'), 2) AS f;
    statement := CASE
        WHEN compiled.keys = '{}' THEN by_document || compiled.on_document
        WHEN compiled.alternatives IS NULL THEN concat(
            by_document, '(c.metadata ?| $3) IS NOT TRUE AND ', compiled.on_document,
            ' UNION ALL ', by_chunk, 'c.metadata ?| $3 AND ', compiled.on_chunk)
        ELSE concat(
            by_document, 'd.metadata @> ANY($4) AND (c.metadata @> ANY($5)) IS NOT TRUE AND ',
            compiled.on_chunk,
            ' UNION ALL ', by_chunk, 'c.metadata @> ANY($5) AND ', compiled.on_chunk)
    END;
    EXECUTE format(
        'SELECT coalesce(array_agg(p.id), ''{}'') FROM (%s LIMIT $6) AS p', statement)
    INTO passing
    USING collection_ids, compiled.operands, compiled.keys, compiled.alternatives, compiled.singles,
        most::bigint + 1;
    RETURN CASE WHEN most IS NULL OR cardinality(passing) <= most THEN passing END;
END;
$function$;

COMMENT ON FUNCTION pgblend._filter_chunks(jsonb, bigint[], integer) IS
'The chunks of collections that pass a filter, in no order; NULL where more than a number do.';
