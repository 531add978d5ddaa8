-- _filter_estimate: about how many chunks of collections pass a filter, from a sample of documents.
-- The condition is that of _filter_condition on the document, with parameter 2. NULL where the
-- tables are small or were never analyzed, where the condition looks at chunks too, and where fewer
-- than ten documents of the sample pass, since then the figure says little. The same tables give
-- the same sample.
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
    SELECT c.reltuples, c.relpages INTO documents, pages
    FROM pg_catalog.pg_class AS c WHERE c.oid = 'pgblend_data.document'::regclass;
    SELECT c.reltuples INTO chunks
    FROM pg_catalog.pg_class AS c WHERE c.oid = 'pgblend_data.chunk'::regclass;
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
