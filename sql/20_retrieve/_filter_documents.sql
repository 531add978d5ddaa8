-- _filter_documents: the documents of collections that pass a filter which they decide, in no
-- order; NULL where more than `most` do, or where only a look at each of many would tell.
-- The latter are more than 10,000 documents and a filter that no index is for: ours are on some
-- columns and on the values that metadata contain, an owner's own may be on expressions. Whether
-- documents decide, _documents_decide tells: what chunks have is not looked at. Under row security
-- a view (_document_containing) uses the index on metadata. The SET clause puts the caller's value
-- back.
CREATE OR REPLACE FUNCTION pgblend._filter_documents(
    filter jsonb,
    collection_ids bigint[],
    most integer
)
RETURNS bigint[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
SET "pgblend.filter_alternatives" = '{}'
AS $function$
DECLARE
    compiled record;
    statement text := 'SELECT d.id FROM pgblend_data.document AS d
        WHERE d.collection_id = ANY($1) AND ';
    passing bigint[];
BEGIN
    SELECT f.* INTO compiled FROM pgblend._filter_condition(filter, 2) AS f;
    IF compiled.alternatives IS NULL THEN
        IF compiled.on_document !~
            '\md\.(collection_id|id|modified_at|source_key|text_search_config|uri)\M'
            AND (SELECT c.reltuples FROM pg_catalog.pg_class AS c
                WHERE c.oid = 'pgblend_data.document'::regclass) > 10000
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_index AS i
                WHERE i.indrelid = 'pgblend_data.document'::regclass AND i.indexprs IS NOT NULL)
        THEN
            RETURN NULL;
        END IF;
    ELSIF row_security_active('pgblend_data.document') THEN
        PERFORM set_config('pgblend.filter_alternatives', compiled.alternatives::text, true);
        statement := statement
            || 'd.id IN (SELECT m.document_id FROM pgblend._document_containing AS m) AND ';
    ELSE
        statement := statement || 'd.metadata @> ANY($3) AND ';
    END IF;
    statement := concat(statement, compiled.on_document);
    EXECUTE format(
        'SELECT coalesce(array_agg(p.id), ''{}'') FROM (%s LIMIT $4) AS p', statement)
    INTO passing
    USING collection_ids, compiled.operands, compiled.alternatives, most::bigint + 1;
    RETURN CASE WHEN cardinality(passing) <= most THEN passing END;
END;
$function$;

COMMENT ON FUNCTION pgblend._filter_documents(jsonb, bigint[], integer) IS
'The documents of collections that pass a filter which documents decide, in no order; NULL where '
'more than a number do, or where only a look at each of many would tell.';
