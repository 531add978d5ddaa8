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
    WITH named AS MATERIALIZED (
        SELECT d.id, d.collection_id, 1 AS way
        FROM pgblend_data.document AS d
        WHERE d.id = CASE
            WHEN document ~ '^[0-9]{1,18}$' THEN document::bigint
            WHEN document ~ '^#[0-9a-f]{6,15}$'
                THEN ('x' || lpad(substr(document, 2), 16, '0'))::bit(64)::bigint
        END
        UNION ALL
        SELECT d.id, d.collection_id, 2
        FROM pgblend_data.document AS d
        WHERE d.source_key = document
        UNION ALL
        SELECT d.id, d.collection_id, 3
        FROM pgblend_data.document AS d
        WHERE d.uri = document
    ),

    nearest AS (
        SELECT n.id, n.way, n.collection_id = ANY(collection_ids) AS is_searched
        FROM named AS n
        ORDER BY n.way ASC, 3 DESC
        FETCH FIRST 1 ROW WITH TIES
    )

    SELECT array_agg(n.id ORDER BY n.id) INTO found_ids FROM nearest AS n;
    IF cardinality(found_ids) > 1 THEN
        SELECT string_agg(format('%s in "%s"', d.id, c.name), ', ' ORDER BY d.id) INTO names
        FROM pgblend_data.document AS d
        INNER JOIN pgblend_data.collection AS c ON c.id = d.collection_id
        WHERE d.id = ANY(found_ids);
        RAISE EXCEPTION 'document "%" means several: %', left(document, 200), left(names, 500)
            USING ERRCODE = '22023', HINT = 'Give one of these ids, or search one collection.';
    END IF;
    RETURN found_ids[1];
END;
$function$;
