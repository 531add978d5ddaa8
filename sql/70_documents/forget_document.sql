-- forget_document: delete a document, and its text wherever it was copied to; returns each place,
-- and when the text is gone from there. No rows where there is no such document.
-- The lexical index of its collection is made anew, so that no segment and no vocabulary has its
-- words: in a large collection that takes minutes. Answers of models about its passages go too,
-- but where another document has the same passage. 55P03 where another session seals; an error
-- where the index cannot be made anew: then nothing is deleted.
CREATE OR REPLACE FUNCTION blend.forget_document(document_id bigint)
RETURNS TABLE (place text, gone text)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    forgotten pgblend_data.document;
    collection text;
    found_entities bigint[];
    own_hashes text[];
    own_lexemes text[];
    rebuilt bigint;
    kept_words bigint;
    kept_entities bigint;
    kept_judgements bigint;
BEGIN
    SELECT d.* INTO forgotten FROM pgblend_data.document AS d WHERE d.id = document_id;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    collection := (
        SELECT c.name FROM pgblend_data.collection AS c WHERE c.id = forgotten.collection_id);
    PERFORM pgblend._writable_collection(collection);
    SELECT coalesce(array_agg(DISTINCT h.content_hash), '{}'),
        coalesce(array_agg(DISTINCT l.lexeme) FILTER (WHERE l.lexeme IS NOT NULL), '{}')
    INTO own_hashes, own_lexemes
    FROM pgblend_data.chunk AS h LEFT JOIN LATERAL unnest(h.lexemes) AS l ON true
    WHERE h.document_id = forgotten.id;
    SELECT coalesce(array_agg(DISTINCT e.neighbour >> 2), '{}') INTO found_entities
    FROM pgblend_data.edge AS e
    WHERE e.document_id = forgotten.id AND e.neighbour & 3 = 2 AND NOT e.is_reverse;

    PERFORM blend.delete_document(forgotten.id);
    DELETE FROM pgblend_data.entity_extraction AS x
    WHERE x.collection_id = forgotten.collection_id AND x.content_hash = ANY(own_hashes)
        AND NOT EXISTS (
            SELECT FROM pgblend_data.chunk AS h
            WHERE h.collection_id = x.collection_id AND h.content_hash = x.content_hash);
    rebuilt := blend.lexical_rebuild(collection);
    IF rebuilt IS NULL THEN
        RAISE EXCEPTION 'the lexical index of collection "%" could not be made anew', collection
            USING ERRCODE = 'PB003',
            HINT = 'The warning says why. Mend it and call forget_document again.';
    END IF;

    SELECT count(DISTINCT v.lexeme) INTO kept_words FROM pgblend_data.vocabulary AS v
    WHERE v.collection_id = forgotten.collection_id AND v.lexeme = ANY(own_lexemes)
        AND NOT EXISTS (
            SELECT FROM pgblend_data.chunk AS h
            WHERE h.collection_id = v.collection_id
                AND h.lexemes @@ quote_literal(v.lexeme)::pg_catalog.tsquery);
    SELECT count(*) INTO kept_entities FROM pgblend_data.entity AS t
    WHERE t.id = ANY(found_entities);
    SELECT count(*) INTO kept_judgements FROM pgblend_data.judgement AS j
    WHERE j.collection_id = forgotten.collection_id AND j.source_key = forgotten.source_key;
    RETURN QUERY VALUES
        ('passages, vectors, summary and queues', 'now'),
        ('answers of models about its passages', 'now'),
        ('entities', format('now, but for %s that other passages name', kept_entities)),
        ('segments of the lexical index', 'now'),
        ('vocabulary', CASE kept_words WHEN 0 THEN 'now' ELSE format(
            '%s words with the next lexical_rebuild: a session adds passages now', kept_words) END),
        ('memory of sessions', 'at their next search of the collection, or their end'),
        ('caches of the gateway',
            'vectors, by digests of their texts: when others take their place, or it ends'),
        ('search log', 'never there: it has numbers of passages, for --keep-days of the gateway'),
        ('judgements', format('%s keep its key', kept_judgements)),
        ('free space of tables', 'when VACUUM has run and others write there'),
        ('write-ahead log, replicas and backups', 'when they go'),
        ('its source', 'stays: ingest brings it in again');
END;
$function$;
