-- set_metadata: change a document's metadata without touching its chunks or vectors; returns the
-- new metadata.
-- Merged (also where merge is NULL), given keys replace those there and a JSON null takes a key
-- away; not merged, the whole is replaced. A later ingest of the document replaces all of it by
-- what the source says: lasting keys belong into the source. An unknown document and metadata that
-- is no object are errors.
CREATE OR REPLACE FUNCTION pgblend.set_metadata(
    document_id bigint,
    metadata jsonb,
    merge boolean DEFAULT true
)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    new_metadata jsonb;
BEGIN
    IF jsonb_typeof(set_metadata.metadata) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'metadata is %: expected a JSON object',
            coalesce(left(set_metadata.metadata::text, 200), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: {"author": "knuth"}';
    END IF;
    UPDATE pgblend_data.document AS d
    SET metadata = CASE
        WHEN coalesce(merge, true) THEN (d.metadata || set_metadata.metadata) - ARRAY(
            SELECT e.key FROM jsonb_each(set_metadata.metadata) AS e WHERE e.value = 'null')
        ELSE set_metadata.metadata END
    WHERE d.id = set_metadata.document_id
    RETURNING d.metadata INTO new_metadata;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no document %', coalesce(set_metadata.document_id::text, 'NULL')
            USING ERRCODE = '42704', HINT = 'SELECT document_id, source_key FROM pgblend.documents';
    END IF;
    RETURN new_metadata;
END;
$function$;

COMMENT ON FUNCTION pgblend.set_metadata(bigint, jsonb, boolean) IS
'Change a document''s metadata without touching its chunks or vectors; returns the new metadata. '
'Merged, a JSON null takes a key away. A later ingest of the document replaces it all.';
