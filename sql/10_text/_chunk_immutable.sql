-- _chunk_immutable: trigger that lets a chunk's metadata and counts of tokens change, and nothing
-- else.
-- (content_hash is generated after this trigger.) Whatever is derived from a chunk (postings,
-- vectors) is found by its id, so new text needs a new id.
CREATE OR REPLACE FUNCTION pgblend._chunk_immutable()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    others text[] := '{metadata, token_count, piece_tokens, lexemes, content_hash}';
BEGIN
    IF to_jsonb(NEW) - others <> to_jsonb(OLD) - others OR NEW.lexemes <> OLD.lexemes
    THEN
        RAISE EXCEPTION 'chunk % is immutable: only metadata and counts of tokens can be updated',
            OLD.id
            USING ERRCODE = '0A000',
            HINT = 'Replace the document: SELECT * FROM blend.ingest_document(…)';
    END IF;
    RETURN NEW;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_20_immutable BEFORE UPDATE ON pgblend_data.chunk
FOR EACH ROW EXECUTE FUNCTION pgblend._chunk_immutable();
