-- _filter_documents: the documents of collections that pass a filter which they decide, in no
-- order; NULL where more than `most` do.
-- Whether documents decide, _documents_decide tells: what chunks have is not looked at. Under row
-- security a view (_document_containing) uses the index on metadata. The SET clause puts the
-- caller's value back.
CREATE OR REPLACE FUNCTION pgblend._filter_documents(
    filter jsonb,
    collection_ids bigint[],
    most integer
)
RETURNS bigint[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET "pgblend.filter_alternatives" = '{}'
AS $function$
DECLARE
    compiled record;
    statement text := 'SELECT d.id FROM pgblend_data.document AS d
        WHERE d.collection_id = ANY($1) AND ';
    passing bigint[];
BEGIN
    SELECT f.* INTO compiled FROM pgblend._filter_condition(filter, 2) AS f;
    IF compiled.alternatives IS NOT NULL AND row_security_active('pgblend_data.document') THEN
        PERFORM set_config('pgblend.filter_alternatives', compiled.alternatives::text, true);
        statement := statement
            || 'd.id IN (SELECT m.document_id FROM pgblend._document_containing AS m) AND ';
    ELSIF compiled.alternatives IS NOT NULL THEN
        statement := statement || 'd.metadata @> ANY($3) AND ';
    END IF;
    statement := concat(statement, compiled.on_document);
    -- Calls in text: _iso_timestamp (a filter's conditions).
    EXECUTE format(
        'SELECT coalesce(array_agg(p.id), ''{}'') FROM (%s LIMIT $4) AS p', statement)
    INTO passing
    USING collection_ids, compiled.operands, compiled.alternatives, most::bigint + 1;
    RETURN CASE WHEN cardinality(passing) <= most THEN passing END;
END;
$function$;
