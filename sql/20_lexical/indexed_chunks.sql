-- _chunk_bury: trigger that takes deleted chunks out of the lexical index.
-- Those not sealed yet leave pending. A seal that holds one is waited for: then the chunk is in a
-- segment, where a tombstone hides it.
-- Runs with its owner's rights: writers have none on the index. The rows are the statement's own.
CREATE OR REPLACE FUNCTION pgblend._chunk_bury()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    WITH unsealed AS (
        DELETE FROM pgblend_data.pending AS p
        USING old_chunk AS c
        WHERE p.chunk_id = c.id
        RETURNING p.chunk_id
    )
    INSERT INTO pgblend_data.tombstone (chunk_id, collection_id, text_search_config)
    SELECT c.id, c.collection_id, c.text_search_config
    FROM old_chunk AS c
    WHERE c.id NOT IN (SELECT u.chunk_id FROM unsealed AS u);
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_50_bury AFTER DELETE ON pgblend_data.chunk
REFERENCING OLD TABLE AS old_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_bury();

-- _chunk_clear_index: trigger that empties the lexical index when the chunks are truncated.
CREATE OR REPLACE FUNCTION pgblend._chunk_clear_index()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    TRUNCATE pgblend_data.pending, pgblend_data.segment, pgblend_data.posting,
        pgblend_data.tombstone, pgblend_data.vocabulary;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_60_clear_index AFTER TRUNCATE ON pgblend_data.chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_clear_index();

-- _chunk_index: trigger that makes new chunks findable by their words in the same transaction: what
-- is to be sealed waits as pending, and their words are in the vocabulary.
-- Runs with its owner's rights: writers have none on the index. The rows are the statement's own.
-- Small tables are read by their indexes, whatever the statistics say. A tsvector's binary form is
-- in the client's encoding.
CREATE OR REPLACE FUNCTION pgblend._chunk_index()
RETURNS trigger
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET client_encoding = 'UTF8'
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $python$
from pgblend.plpy.lexical.records import add_chunks

NEW_CHUNKS = """
    SELECT c.id, c.document_id, c.collection_id, c.bucket, c.chunk_index, c.text_search_config,
        c.own_position, tsvectorsend(c.lexemes) AS vector
    FROM new_chunk AS c"""
if "plan" not in SD:
    SD["plan"] = plpy.prepare(NEW_CHUNKS)
cursor = SD["plan"].cursor()
add_chunks(db, iter(lambda: cursor.fetch(500) or [], []))
$python$;

CREATE OR REPLACE TRIGGER chunk_40_index AFTER INSERT ON pgblend_data.chunk
REFERENCING NEW TABLE AS new_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_index();

-- _chunk_words: the lexemes of chunks as records are made of them (plpy/lexical/records.py).
-- A tsvector's binary form is in the client's encoding.
CREATE OR REPLACE FUNCTION pgblend._chunk_words(chunk_ids bigint[])
RETURNS TABLE (chunk_id bigint, own_position integer, vector bytea)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 100
SET client_encoding = 'UTF8'
AS $function$
BEGIN
    RETURN QUERY
    SELECT c.id, c.own_position, tsvectorsend(c.lexemes)
    FROM pgblend_data.chunk AS c
    WHERE c.id = ANY(chunk_ids);
END;
$function$;

-- _chunk_seal: trigger that seals at commit, once enough chunks of a collection wait for it.
-- Once a transaction, though every 256th chunk calls it. A seal that failed is tried again after a
-- minute; one that a cancel ends does not take the commit along. Under REPEATABLE READ and above,
-- the seal is left to the next transaction: it has to see what others commit.
CREATE OR REPLACE FUNCTION pgblend._chunk_seal()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target bigint := coalesce(NEW.collection_id, OLD.collection_id);
    visit text := concat_ws(' ', pg_current_xact_id(), target);
BEGIN
    IF current_setting('pgblend.seal_visit', true) = visit
        OR current_setting('transaction_isolation') <> 'read committed'
        OR EXISTS (
            SELECT FROM pgblend_data.lexical_failure AS f
            WHERE f.collection_id = target AND f.failed_at > now() - interval '1 minute'
                AND f.failed_at < clock_timestamp() + interval '1 minute')
    THEN
        RETURN NULL;
    END IF;
    PERFORM set_config('pgblend.seal_visit', visit, true);
    -- Where the program runs outside, the worker seals: a commit could not be asked for again.
    IF to_regproc('pgblend._told') IS NULL AND pgblend._has_numpy() THEN
        BEGIN
            PERFORM pgblend._index_collection(target, 'seal', 1000);
        EXCEPTION WHEN query_canceled THEN
            PERFORM pgblend._note_failure(target, SQLERRM);
        END;
    END IF;
    RETURN NULL;
END;
$function$;
