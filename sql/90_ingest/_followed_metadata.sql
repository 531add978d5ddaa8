-- _followed_metadata: a document's metadata once its source says `source`: what was set by hand
-- stays, over the source's or in place of it.
-- The first three are the document's as it is; set_metadata NULL means that the source is followed.
CREATE OR REPLACE FUNCTION pgblend._followed_metadata(
    metadata jsonb,
    set_metadata jsonb,
    source_metadata jsonb,
    source jsonb
)
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN set_metadata IS NULL THEN source
    WHEN source_metadata IS NULL THEN metadata
    ELSE pgblend._merged_metadata(source, set_metadata)
END;
