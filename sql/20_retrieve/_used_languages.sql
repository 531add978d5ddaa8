-- _used_languages: the text search configurations of collections' documents.
CREATE OR REPLACE FUNCTION pgblend._used_languages(collection_ids bigint[])
RETURNS TABLE (collection_id bigint, language text)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 2
BEGIN ATOMIC
    SELECT DISTINCT
        l.collection_id,
        l.text_search_config
    FROM pgblend_data.collection_language AS l
    WHERE l.collection_id = ANY(collection_ids);
END;
