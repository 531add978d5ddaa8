-- _rebuild_vocabulary: make a collection's vocabulary anew from the chunks' tsvectors, without
-- words that no chunk has any more. Names of documents stay out: nothing is similar to them.
-- Left as it is while somebody adds chunks: a word too many is only looked at in vain.
-- Runs with its owner's rights, for a transaction that holds the collection's claim; else 42501.
CREATE OR REPLACE FUNCTION pgblend._rebuild_vocabulary(collection_id bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
BEGIN
    PERFORM pgblend._check_index_claim(_rebuild_vocabulary.collection_id);
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
