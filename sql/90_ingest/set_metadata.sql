-- set_metadata: change a document's metadata without touching its chunks or vectors; returns the
-- new metadata.
-- Merged (also where merge is NULL), given keys replace those there and a JSON null takes a key
-- away; not merged, the whole is replaced. It lasts: keys that were set stay over what the source
-- says when it is ingested again, and metadata that was replaced as a whole stays as it is, until
-- reset_metadata. An unknown document and metadata that is no object are errors.
CREATE OR REPLACE FUNCTION blend.set_metadata(
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
    SET metadata = n.metadata,
        set_metadata = CASE WHEN n.source IS NULL THEN n.metadata
            ELSE coalesce(d.set_metadata, '{}') || set_metadata.metadata END,
        source_metadata = n.source
    FROM (
        SELECT
            o.id,
            CASE WHEN coalesce(merge, true)
                THEN pgblend._merged_metadata(o.metadata, set_metadata.metadata)
                ELSE set_metadata.metadata END AS metadata,
            -- NULL where the whole is, or was, replaced
            CASE WHEN NOT coalesce(merge, true) THEN NULL
                WHEN o.set_metadata IS NULL THEN o.metadata
                ELSE o.source_metadata END AS source
        FROM pgblend_data.document AS o
        WHERE o.id = set_metadata.document_id
        FOR NO KEY UPDATE
    ) AS n
    WHERE d.id = n.id
    RETURNING d.metadata INTO new_metadata;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no document %', coalesce(set_metadata.document_id::text, 'NULL')
            USING ERRCODE = '42704', HINT = 'SELECT document_id, source_key FROM blend.documents';
    END IF;
    RETURN new_metadata;
END;
$function$;
