-- _document_change: what a new version of a document asks for: 'replaced', 'updated' or
-- 'unchanged'.
CREATE OR REPLACE FUNCTION pgblend._document_change(
    old pgblend_data.document,
    new pgblend_data.document
)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN
        old.content_hash IS DISTINCT FROM new.content_hash
        OR old.title IS DISTINCT FROM new.title
        OR old.text_search_config IS DISTINCT FROM new.text_search_config
        THEN 'replaced'
    WHEN
        old.uri IS DISTINCT FROM new.uri
        OR old.metadata IS DISTINCT FROM new.metadata
        OR old.source_metadata IS DISTINCT FROM new.source_metadata
        OR old.media_type IS DISTINCT FROM new.media_type
        OR old.modified_at IS DISTINCT FROM new.modified_at
        THEN 'updated'
    ELSE 'unchanged'
END;

COMMENT ON FUNCTION pgblend._document_change(pgblend_data.document, pgblend_data.document) IS
'What a new version of a document asks for: replaced, updated or unchanged.';
