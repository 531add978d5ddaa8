-- set_metadata: change a document's metadata without touching its chunks or vectors; returns the
-- new metadata.
-- With merge (or NULL), given keys replace those there and a JSON null removes a key. Without, the
-- whole is replaced. Keys that were set stay over what the source says at the next ingest. Metadata
-- that was replaced as a whole stays until reset_metadata. An unknown document and metadata that is
-- no object are errors.
CREATE OR REPLACE FUNCTION blend.set_metadata(
    document_id bigint,
    metadata jsonb,
    merge boolean DEFAULT true
)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    merges boolean := coalesce(merge, true);
    given jsonb := pgblend._uncontrolled_json(set_metadata.metadata);
    new_metadata jsonb;
BEGIN
    IF jsonb_typeof(set_metadata.metadata) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'metadata is %: expected a JSON object',
            coalesce(left(set_metadata.metadata::text, 200), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: {"author": "knuth"}';
    END IF;
    UPDATE pgblend_data.document AS d
    SET metadata = CASE WHEN merges
            THEN pgblend._merged_metadata(d.metadata, given)
            ELSE given END,
        set_metadata = CASE
            WHEN NOT merges THEN given
            WHEN d.set_metadata IS NOT NULL AND d.source_metadata IS NULL  -- it was replaced
                THEN pgblend._merged_metadata(d.metadata, given)
            ELSE coalesce(d.set_metadata, '{}') || given END,
        source_metadata = CASE
            WHEN NOT merges THEN NULL
            WHEN d.set_metadata IS NULL THEN d.metadata
            ELSE d.source_metadata END
    WHERE d.id = set_metadata.document_id
    RETURNING d.metadata INTO new_metadata;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no document %', coalesce(set_metadata.document_id::text, 'NULL')
            USING ERRCODE = '42704', HINT = 'SELECT document_id, source_key FROM blend.documents';
    END IF;
    RETURN new_metadata;
END;
$function$;

-- reset_metadata: forget what set_metadata set of a document; returns the metadata it has then.
-- It has the metadata of its source again. Metadata that was replaced as a whole stays until the
-- next ingest of the source. An unknown document is an error.
CREATE OR REPLACE FUNCTION blend.reset_metadata(document_id bigint)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    new_metadata jsonb;
BEGIN
    UPDATE pgblend_data.document AS d
    SET metadata = coalesce(d.source_metadata, d.metadata),
        set_metadata = NULL,
        source_metadata = NULL
    WHERE d.id = reset_metadata.document_id
    RETURNING d.metadata INTO new_metadata;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no document %', coalesce(reset_metadata.document_id::text, 'NULL')
            USING ERRCODE = '42704', HINT = 'SELECT document_id, source_key FROM blend.documents';
    END IF;
    RETURN new_metadata;
END;
$function$;

-- _followed_metadata: a document's metadata once its source says `source`, under what was set by
-- hand.
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

-- _merged_metadata: metadata with changes laid over it; a key whose change is a JSON null is left
-- out.
-- NULL changes nothing; NULL metadata stays NULL.
CREATE OR REPLACE FUNCTION pgblend._merged_metadata(metadata jsonb, changes jsonb)
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN changes IS NULL THEN metadata
    ELSE (metadata || changes) - ARRAY(
        SELECT e.key FROM jsonb_each(changes) AS e
        WHERE e.value = 'null'
    )
END;
