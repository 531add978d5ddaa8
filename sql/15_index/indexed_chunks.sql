-- _chunk_add_words: trigger that puts the words of new chunks into the vocabulary, in the same
-- transaction. Names of documents ("==…") stay out: nothing is similar to them.
-- There is no unique key, so that nobody waits for a word that somebody else adds. Two
-- transactions may add the same one, which does no harm. While the vocabulary is made anew (its
-- row is locked), all words are added, since those that are seen may be going. So they are where
-- the transaction does not see what others commit. Each word is looked up by the index, whatever
-- the statistics say: they call the table empty where ANALYZE saw none of what this transaction
-- wrote. So it is a scalar subquery, of which no join is made, with no other way left to read the
-- table.
-- Runs with its owner's rights: writers have none on the index. The rows are the statement's own.
CREATE OR REPLACE FUNCTION pgblend._chunk_add_words()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $function$
DECLARE
    settled bigint[];
BEGIN
    SELECT coalesce(array_agg(held.collection_id), '{}') INTO settled
    FROM (
        SELECT k.collection_id
        FROM pgblend_data.vocabulary_lock AS k
        WHERE current_setting('transaction_isolation') = 'read committed'
            AND k.collection_id IN (SELECT n.collection_id FROM new_chunk AS n)
        FOR KEY SHARE SKIP LOCKED
    ) AS held;
    WITH word AS MATERIALIZED (
        SELECT DISTINCT c.collection_id, c.text_search_config,
            unnest(tsvector_to_array(c.lexemes)) COLLATE "C" AS lexeme
        FROM new_chunk AS c
    )
    INSERT INTO pgblend_data.vocabulary (collection_id, text_search_config, lexeme)
    SELECT w.* FROM word AS w
    WHERE w.collection_id <> ALL(settled) AND w.lexeme NOT LIKE '==%'
    UNION ALL
    SELECT w.* FROM word AS w
    WHERE w.collection_id = ANY(settled)
        AND w.lexeme NOT LIKE '==%'
        AND (
            SELECT true FROM pgblend_data.vocabulary AS v
            WHERE v.collection_id = w.collection_id
                AND v.text_search_config = w.text_search_config
                AND v.lexeme = w.lexeme
            LIMIT 1) IS NULL;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_45_add_words AFTER INSERT ON pgblend_data.chunk
REFERENCING NEW TABLE AS new_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_add_words();

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

-- _chunk_add_pending: trigger that makes new chunks findable by their words in the same
-- transaction.
-- Runs with its owner's rights: writers have none on the index. The rows are the statement's own.
CREATE OR REPLACE FUNCTION pgblend._chunk_add_pending()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    INSERT INTO pgblend_data.pending (
        chunk_id, document_id, collection_id, bucket, chunk_index, text_search_config, length,
        own_length, records)
    SELECT c.id, c.document_id, c.collection_id, c.bucket, c.chunk_index, c.text_search_config,
        c.length, c.own_length, pgblend._pack_vector(tsvectorsend(c.lexemes), c.own_position)
    FROM new_chunk AS c;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_40_index_pending AFTER INSERT ON pgblend_data.chunk
REFERENCING NEW TABLE AS new_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_add_pending();

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
            WHERE f.collection_id = target AND f.failed_at > now() - interval '1 minute')
    THEN
        RETURN NULL;
    END IF;
    PERFORM set_config('pgblend.seal_visit', visit, true);
    IF pgblend._has_numpy() THEN
        BEGIN
            PERFORM pgblend._index_collection(target, 'seal', 1000);
        EXCEPTION WHEN query_canceled THEN
            PERFORM pgblend._note_failure(target, SQLERRM);
        END;
    END IF;
    RETURN NULL;
END;
$function$;
