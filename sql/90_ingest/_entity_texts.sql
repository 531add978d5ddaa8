-- _entity_texts: texts of a collection that a version of model and prompt has not been asked about,
-- each once.
CREATE OR REPLACE FUNCTION pgblend._entity_texts(
    collection_id bigint,
    version text,
    text_limit integer
)
RETURNS TABLE (content_hash text, title text, content text)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 100
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT DISTINCT ON (c.content_hash) c.content_hash, d.title, c.content
    FROM pgblend_data.chunk AS c
    INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
    WHERE c.collection_id = _entity_texts.collection_id
        AND btrim(c.content) <> ''
        AND NOT EXISTS (
            SELECT FROM pgblend_data.entity_extraction AS x
            WHERE x.collection_id = _entity_texts.collection_id
                AND x.content_hash = c.content_hash AND x.version = _entity_texts.version)
    ORDER BY c.content_hash, c.id
    LIMIT text_limit;
END;
$function$;
