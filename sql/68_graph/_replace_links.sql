-- _replace_links: replace the links of documents' texts: an array of them for each document.
CREATE OR REPLACE FUNCTION pgblend._replace_links(document_ids bigint[], links jsonb[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    targets bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM pgblend_data.link AS l
        WHERE l.document_id = ANY(document_ids) AND l.origin = 'text'
        RETURNING l.target_document_id
    )

    SELECT array_agg(DISTINCT g.target_document_id) INTO targets
    FROM gone AS g WHERE g.target_document_id IS NOT NULL;
    IF targets IS NOT NULL THEN
        PERFORM pgblend._link_edges(document_ids, targets);
    END IF;
    PERFORM pgblend._insert_links(
        d.collection_id, array_agg(d.id ORDER BY g.ordinality),
        array_agg(g.links ORDER BY g.ordinality), 'text')
    FROM unnest(document_ids, links) WITH ORDINALITY AS g (id, links)
    INNER JOIN pgblend_data.document AS d ON d.id = g.id
    WHERE g.links <> '[]'
    GROUP BY d.collection_id;
END;
$function$;
