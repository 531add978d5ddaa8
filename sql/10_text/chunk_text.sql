-- _chunk_immutable: trigger that lets a chunk's metadata and counts of tokens change, and nothing
-- else. Lexemes may be emptied: the next trigger makes them anew from the text.
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
    IF to_jsonb(NEW) - others <> to_jsonb(OLD) - others OR NEW.lexemes NOT IN (OLD.lexemes, '')
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

-- _chunk_index_text: trigger that makes a new chunk's lexemes, whatever came with it, and those of
-- one whose lexemes are emptied: what stays the same is not written.
-- A trigger, since a generated column cannot cast the configuration's name, and the name is stored
-- as text, since a regconfig column blocks pg_upgrade. It sees the chunk before, also where the
-- same statement inserts that. Words too long to be indexed are left out without a NOTICE.
CREATE OR REPLACE FUNCTION pgblend._chunk_index_text()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET client_min_messages = warning
SET enable_seqscan = off
SET jit = off
AS $function$
BEGIN
    PERFORM pgblend._check_text_search_config(NEW.text_search_config);
    SELECT l.lexemes, l.own_position INTO NEW.lexemes, NEW.own_position
    FROM (VALUES (1)) AS always_one_row
    LEFT JOIN pgblend_data.document AS d ON d.id = NEW.document_id
    CROSS JOIN LATERAL pgblend._chunk_lexemes(
        pgblend._regconfig(NEW.text_search_config), coalesce(d.source_key, ''),
        coalesce(d.title, ''), NEW.heading, NEW.chunk_index > 0 AND NEW.heading = (
            SELECT c.heading FROM pgblend_data.chunk AS c
            WHERE c.document_id = NEW.document_id AND c.chunk_index = NEW.chunk_index - 1),
        NEW.content, NEW.own_start, NEW.chunk_index, NEW.context, NEW.own_headings) AS l;
    IF TG_OP = 'UPDATE' AND to_jsonb(NEW) - 'content_hash' = to_jsonb(OLD) - 'content_hash' THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_10_index_text BEFORE INSERT ON pgblend_data.chunk
FOR EACH ROW EXECUTE FUNCTION pgblend._chunk_index_text();

CREATE OR REPLACE TRIGGER chunk_25_renew_words BEFORE UPDATE OF lexemes ON pgblend_data.chunk
FOR EACH ROW WHEN (new.lexemes = '') EXECUTE FUNCTION pgblend._chunk_index_text();

-- _document_keeps_names: trigger that keeps a document's title and key while it has chunks, whose
-- lexemes are of them.
CREATE OR REPLACE FUNCTION pgblend._document_keeps_names()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF EXISTS (SELECT FROM pgblend_data.chunk AS c WHERE c.document_id = OLD.id) THEN
        RAISE EXCEPTION 'title and key of document % are words of its chunks: they stay', OLD.id
            USING ERRCODE = '0A000',
            HINT = 'Replace the document: SELECT * FROM blend.ingest_document(…)';
    END IF;
    RETURN NEW;
END;
$function$;

CREATE OR REPLACE TRIGGER document_05_keep_names
BEFORE UPDATE OF title, source_key ON pgblend_data.document
FOR EACH ROW WHEN (
    new.title <> old.title OR new.source_key <> old.source_key
) EXECUTE FUNCTION pgblend._document_keeps_names();
