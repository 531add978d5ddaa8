-- _document_facts: what is said of a document: its names, collection, language and passages.
-- No row where there is none that the caller may read.
CREATE OR REPLACE FUNCTION pgblend._document_facts(document_id bigint)
RETURNS TABLE (
    id bigint,
    source_key text,
    uri text,
    title text,
    collection text,
    language text,
    passages bigint
)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 1
BEGIN ATOMIC
    SELECT
        d.id,
        d.source_key,
        d.uri,
        d.title,
        c.name,
        d.text_search_config,
        (
            SELECT count(*) FROM pgblend_data.chunk AS h
            WHERE h.document_id = d.id
        ) AS passages
    FROM pgblend_data.document AS d
    INNER JOIN pgblend_data.collection AS c ON d.collection_id = c.id
    WHERE d.id = _document_facts.document_id;
END;
