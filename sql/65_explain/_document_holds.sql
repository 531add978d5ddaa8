-- _document_holds: whether a passage of a document has a query's phrases, and none of what it
-- excludes; NULL where it has neither, or the document's language is not searched.
CREATE OR REPLACE FUNCTION pgblend._document_holds(
    document_id bigint,
    query text,
    collection_ids bigint[]
)
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN (
        SELECT EXISTS (
            SELECT FROM pgblend_data.chunk AS c
            WHERE c.document_id = d.id AND c.lexemes @@ b.condition)
        FROM pgblend_data.document AS d
        INNER JOIN pgblend._binding_conditions(query, collection_ids) AS b
            ON b.config_name = d.text_search_config
        WHERE d.id = _document_holds.document_id);
END;
$function$;
