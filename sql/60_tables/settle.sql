-- _settle_waiting: do what plain SQL left to the program where that runs outside, for so many
-- documents that wait; the collections of these.
-- For pgblend worker: texts that are split anew, words, names and links as the program has them.
-- What links mean is found once their documents' names are stored: resolve_links of the collections
-- comes after it, in the same transaction. Nobody but whom the program answers (_is_answered).
CREATE OR REPLACE FUNCTION pgblend._settle_waiting(most integer)
RETURNS TABLE (collection_id bigint, documents bigint)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
AS $function$
DECLARE
    noted pgblend_data.unsettled;
    settled bigint[];
BEGIN
    IF NOT pgblend._is_answered() THEN
        RETURN;
    END IF;
    FOR noted IN
        SELECT u.* FROM pgblend_data.unsettled AS u
        WHERE pgblend._may_write(u.collection_id)
        ORDER BY u.document_id
        LIMIT most
        FOR UPDATE SKIP LOCKED
    LOOP
        PERFORM pgblend._settle_document(noted);
        settled := settled || noted.collection_id;
    END LOOP;
    RETURN QUERY SELECT s.id, count(*) FROM unnest(settled) AS s (id) GROUP BY s.id ORDER BY s.id;
END;
$function$;

-- _settle_document: do what plain SQL left to the program for one document.
-- The row of an attached table is read again where its text was longer than a chunk, or HTML.
CREATE OR REPLACE FUNCTION pgblend._settle_document(noted pgblend_data.unsettled)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    stored pgblend_data.document;
    attached pgblend_data.attached_table;
    given jsonb;
BEGIN
    SELECT d.* INTO stored FROM pgblend_data.document AS d WHERE d.id = noted.document_id;
    SELECT a.* INTO attached FROM pgblend_data.attached_table AS a
    WHERE a.collection_id = (
            SELECT coalesce(c.parent_id, c.id) FROM pgblend_data.collection AS c
            WHERE c.id = noted.collection_id)
        AND (noted.content IS NOT NULL OR a.text_format = 'html');
    IF attached.id IS NOT NULL THEN
        UPDATE pgblend_data.document AS d SET content_hash = '' WHERE d.id = stored.id;
        PERFORM pgblend._apply_changes(attached, ARRAY[stored.source_key]);
    ELSIF noted.content IS NOT NULL THEN
        DELETE FROM pgblend_data.chunk AS c WHERE c.document_id = stored.id;
        PERFORM pgblend._insert_chunks(ARRAY[stored.id], ARRAY(
            SELECT s FROM pgblend_data.collection AS c
            CROSS JOIN LATERAL pgblend._split_content(
                1, noted.content, pgblend._collection_settings(c.settings)) AS s
            WHERE c.id = noted.collection_id), 0);
    ELSE
        UPDATE pgblend_data.chunk AS c SET lexemes = '' WHERE c.document_id = stored.id;
        -- A new version of the row: sessions keep what they made of the words before.
        UPDATE pgblend_data.pending AS p SET records = NULL
        WHERE p.document_id = stored.id AND p.records IS NULL;
    END IF;
    DELETE FROM pgblend_data.document_name AS n WHERE n.document_id = stored.id;
    INSERT INTO pgblend_data.document_name (
        collection_id, document_id, bucket, name, kind, full_name)
    SELECT d.collection_id, d.id, d.bucket, n.name, n.kind, n.full_name
    FROM pgblend_data.document AS d
    CROSS JOIN LATERAL pgblend._document_names(d.source_key, d.title, d.uri, d.metadata) AS n
    WHERE d.id = stored.id;
    FOR given IN SELECT e.value FROM jsonb_array_elements(noted.links) AS e LOOP
        PERFORM pgblend._insert_links(
            noted.collection_id, ARRAY[stored.id], ARRAY[given -> 'links'], given ->> 'origin');
    END LOOP;
    DELETE FROM pgblend_data.unsettled AS u WHERE u.document_id = stored.id;
END;
$function$;
