-- _rebuild_vocabulary: make a collection's vocabulary anew from the chunks' tsvectors, without
-- words that no chunk has any more. Names of documents stay out: nothing is similar to them.
-- Left as it is while somebody adds chunks: a word too many is only looked at in vain.
-- Runs with its owner's rights, for a transaction that holds the collection's claim; else 42501.
CREATE OR REPLACE FUNCTION pgblend._rebuild_vocabulary(collection_id bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    PERFORM pgblend._check_index_claim(collection_id);
    PERFORM FROM pgblend_data.vocabulary_lock AS k
    WHERE k.collection_id = _rebuild_vocabulary.collection_id
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    DELETE FROM pgblend_data.vocabulary AS v
    WHERE v.collection_id = _rebuild_vocabulary.collection_id;
    INSERT INTO pgblend_data.vocabulary (collection_id, text_search_config, lexeme)
    SELECT DISTINCT c.collection_id, c.text_search_config, l.lexeme
    FROM pgblend_data.chunk AS c
    CROSS JOIN LATERAL unnest(c.lexemes) AS l
    WHERE c.collection_id = _rebuild_vocabulary.collection_id AND l.lexeme NOT LIKE '==%';
END;
$function$;

-- _index_collection: seal or rebuild ('rebuild'), so that a failure changes nothing but is
-- remembered.
-- A failure becomes a WARNING and a row of lexical_failure, which an error would roll back. The
-- result is then NULL, and the old segments go on serving. A rebuild seals what is pending as
-- well, from the tsvectors, whatever pending says; chunks that another transaction is deleting
-- stay there. Where somebody else seals, it is an error.
CREATE OR REPLACE FUNCTION pgblend._index_collection(
    collection_id bigint,
    action text,
    at_least integer
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    missing bigint := 0;
    chunk_count bigint;
BEGIN
    IF action = 'rebuild' THEN
        PERFORM pgblend._lock_segments(collection_id);
        PERFORM pgblend._drop_segments(collection_id);
        PERFORM pgblend._drop_pending(collection_id, NULL);
        PERFORM pgblend._rebuild_vocabulary(collection_id);
        SELECT coalesce(sum(pgblend._seal_missing(l.collection_id, l.text_search_config)), 0)
        INTO missing
        FROM (
            SELECT DISTINCT c.collection_id, c.text_search_config
            FROM pgblend_data.collection_language AS c
            WHERE c.collection_id = _index_collection.collection_id
        ) AS l;
    END IF;
    chunk_count := missing + pgblend._seal_collection(collection_id, at_least);
    DELETE FROM pgblend_data.lexical_failure AS f
    WHERE f.collection_id = _index_collection.collection_id;
    RETURN chunk_count;
EXCEPTION
    WHEN lock_not_available THEN
        RAISE;
    WHEN OTHERS THEN
        PERFORM pgblend._note_failure(collection_id, format('%s (%s)', SQLERRM, SQLSTATE));
        RETURN NULL;
END;
$function$;
