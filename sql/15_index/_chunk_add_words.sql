-- _chunk_add_words: trigger that puts the words of new chunks into the vocabulary, in the same
-- transaction. Names of documents ("==…") stay out: nothing is similar to them.
-- Without a unique key, so that nobody waits for a word that somebody else adds: two transactions
-- may add the same one, which does no harm. While the vocabulary is made anew (its row is locked),
-- or where the transaction does not see what others commit, all words are added, since those that
-- are seen may be going. Each word is looked up by the index whatever the statistics say, which
-- call the table empty where ANALYZE saw none of what this transaction wrote: as a scalar subquery,
-- of which no join is made, with no other way left to read the table.
-- Runs with its owner's rights: writers have none on the index. The rows are the statement's own.
CREATE OR REPLACE FUNCTION pgblend._chunk_add_words()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
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
