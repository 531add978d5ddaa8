-- _find_document: the document that a text means: its id (or docid, as ask gives it), its source
-- key or its URI, in this order.
-- NULL where there is none that the caller may read. A key or URI that several documents have is an
-- error, unless one collection of those searched has it alone.
CREATE OR REPLACE FUNCTION pgblend._find_document(document text, collection_ids bigint[])
RETURNS bigint
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    found_ids bigint[];
    names text;
BEGIN
    WITH nearest AS (
        SELECT n.document_id, n.way, n.collection_id = ANY(collection_ids) AS is_searched, c.name
        FROM pgblend._documents_called(document) AS n
        INNER JOIN pgblend_data.collection AS c ON c.id = n.collection_id
        ORDER BY n.way ASC, 3 DESC
        FETCH FIRST 1 ROW WITH TIES
    )

    SELECT
        array_agg(n.document_id ORDER BY n.document_id),
        string_agg(format('%s in "%s"', n.document_id, n.name), ', ' ORDER BY n.document_id)
    INTO found_ids, names
    FROM nearest AS n;
    IF cardinality(found_ids) > 1 THEN
        RAISE EXCEPTION 'document "%" means several: %', left(document, 200), left(names, 500)
            USING ERRCODE = '22023', HINT = 'Give one of these ids, or search one collection.';
    END IF;
    RETURN found_ids[1];
END;
$function$;
