-- _filter_estimate: about how many chunks of collections pass a filter, from a sample of
-- documents. The condition is that of _filter_condition on the document, with parameter 2. NULL
-- where the tables are small or were never analyzed, and where the condition looks at chunks too.
-- NULL as well where fewer than ten documents of the sample pass: the figure says little then. The
-- same tables give the same sample.
CREATE OR REPLACE FUNCTION pgblend._filter_estimate(
    on_document text,
    operands text[],
    collection_ids bigint[]
)
RETURNS double precision
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    documents real;
    pages integer;
    chunks real;
    percent double precision;
    passing bigint;
BEGIN
    SELECT d.reltuples, d.relpages, c.reltuples INTO documents, pages, chunks
    FROM pg_catalog.pg_class AS d, pg_catalog.pg_class AS c
    WHERE d.oid = 'pgblend_data.document'::regclass AND c.oid = 'pgblend_data.chunk'::regclass;
    IF documents < 5000 OR on_document ~ '\mc\.' THEN
        RETURN NULL;
    END IF;
    percent := least(100, 100 * greatest(500 / documents, 20.0 / pages));
    -- Calls in text: _iso_timestamp (a filter's conditions).
    EXECUTE format(
        'SELECT count(*) FROM pgblend_data.document AS d TABLESAMPLE SYSTEM ($3) REPEATABLE (0)
        WHERE d.collection_id = ANY($1) AND %s', on_document)
    INTO passing USING collection_ids, operands, percent;
    RETURN CASE WHEN passing >= 10 THEN passing * (100 / percent) * (chunks / documents) END;
END;
$function$;

-- _filtered_ids: the chunks of collections that pass a filter, or the documents, in no order; NULL
-- where more than `most` do.
-- Documents are asked for where they decide (_documents_decide). A NULL `most` asks for all. A
-- NULL filter lets all pass. Where a sample of documents says that half as many chunks again pass,
-- none are looked for: so NULL may rarely stand for fewer. Where the filter asks for values that
-- metadata contain, GIN indexes find them. Otherwise documents are looked at once each, for the
-- chunks that have none of the filter's keys themselves, and then the chunks that do. Where
-- documents decide, as is usual, an index alone tells their chunks. Under row security a view
-- (_document_containing) uses the index. The SET clause puts the caller's value back.
CREATE OR REPLACE FUNCTION pgblend._filtered_ids(
    filter jsonb,
    collection_ids bigint[],
    most integer,
    of_documents boolean DEFAULT false
)
RETURNS bigint[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET "pgblend.filter_alternatives" = '{}'
AS $function$
DECLARE
    compiled record;
    by_document text := CASE WHEN of_documents THEN 'SELECT d.id FROM pgblend_data.document AS d'
        ELSE 'SELECT c.id FROM pgblend_data.document AS d
        INNER JOIN pgblend_data.chunk AS c ON c.document_id = d.id' END
        || ' WHERE d.collection_id = ANY($1) AND ';
    by_chunk text := 'SELECT c.id FROM pgblend_data.chunk AS c
        INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
        WHERE c.collection_id = ANY($1) AND c.metadata <> ''{}'' AND ';
    contains text := 'd.metadata @> ANY($4) AND ';
    statement text;
    passing bigint[];
BEGIN
    SELECT f.* INTO compiled FROM pgblend._filter_condition(coalesce(filter, '{}'), 2) AS f;
    IF NOT of_documents AND 1.5 * most::bigint < pgblend._filter_estimate(
        compiled.on_document, compiled.operands, collection_ids)
    THEN
        RETURN NULL;
    END IF;
    IF row_security_active('pgblend_data.document') THEN
        PERFORM set_config('pgblend.filter_alternatives', compiled.alternatives::text, true);
        contains := 'd.id IN (SELECT m.document_id FROM pgblend._document_containing AS m) AND ';
    END IF;
    IF of_documents OR compiled.keys = '{}'
        OR pgblend._documents_decide(compiled.on_document, compiled.keys, collection_ids)
    THEN
        statement := concat(
            by_document, CASE WHEN compiled.alternatives IS NOT NULL THEN contains END,
            compiled.on_document);
    ELSIF compiled.alternatives IS NULL THEN
        statement := concat(
            by_document, '(c.metadata ?| $3) IS NOT TRUE AND ', compiled.on_document,
            ' UNION ALL ', by_chunk, 'c.metadata ?| $3 AND ', compiled.on_chunk);
    ELSE
        statement := concat(
            by_document, contains, '(c.metadata @> ANY($5)) IS NOT TRUE AND ', compiled.on_chunk,
            ' UNION ALL ', by_chunk, 'c.metadata @> ANY($5) AND ', compiled.on_chunk);
    END IF;
    -- Calls in text: _iso_timestamp (a filter's conditions).
    EXECUTE format(
        'SELECT coalesce(array_agg(p.id), ''{}'') FROM (%s LIMIT $6) AS p', statement)
    INTO passing
    USING collection_ids, compiled.operands, compiled.keys, compiled.alternatives, compiled.singles,
        most::bigint + 1;
    RETURN CASE WHEN most IS NULL OR cardinality(passing) <= most THEN passing END;
END;
$function$;
