-- _document_passes: whether a passage of a document passes a filter.
CREATE OR REPLACE FUNCTION pgblend._document_passes(document_id bigint, filter jsonb)
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN cardinality(pgblend._filter_candidates(ARRAY(
        SELECT c.id FROM pgblend_data.chunk AS c
        WHERE c.document_id = _document_passes.document_id), filter)) > 0;
END;
$function$;
