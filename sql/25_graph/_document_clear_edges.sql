-- _document_clear_edges: trigger that empties the graph when the documents are truncated.
CREATE OR REPLACE FUNCTION pgblend._document_clear_edges()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    TRUNCATE pgblend_data.edge, pgblend_data.entity;
    RETURN NULL;
END;
$function$;
