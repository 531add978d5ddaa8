-- _chunk_immutable: trigger that lets a chunk's metadata change and nothing else.
-- (content_hash is generated after this trigger.) Whatever is derived from a chunk (postings,
-- vectors) is found by its id, so new text needs a new id.
CREATE OR REPLACE FUNCTION pgblend._chunk_immutable()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    others text[] := '{metadata, lexemes, content_hash}';
BEGIN
    IF to_jsonb(NEW) - others <> to_jsonb(OLD) - others OR NEW.lexemes <> OLD.lexemes
    THEN
        RAISE EXCEPTION 'chunk % is immutable: only its metadata can be updated', OLD.id
            USING ERRCODE = '0A000',
            HINT = 'Replace the document: SELECT * FROM pgblend.ingest_document(…)';
    END IF;
    RETURN NEW;
END;
$function$;

COMMENT ON FUNCTION pgblend._chunk_immutable() IS
'Trigger that lets a chunk''s metadata change and nothing else.';
