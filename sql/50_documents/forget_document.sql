-- forget_document: delete a document, and its text wherever it was copied to; returns each place,
-- and when the text is gone from there. No rows where there is no such document.
-- The lexical index of its collection is made anew, so that no segment and no vocabulary has its
-- words: in a large collection that takes minutes. Answers of models about its passages go too,
-- but where another document has the same passage. 55P03 where another session seals; an error
-- where the index cannot be made anew: then nothing is deleted. Without PL/Python the index stays
-- as it is, which is told: lexical_rebuild is another statement there.
CREATE OR REPLACE FUNCTION blend.forget_document(document_id bigint)
RETURNS TABLE (place text, gone text)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    facts record;
    kept record;
    kept_judgements bigint;
    is_indexed CONSTANT boolean := to_regproc('pgblend._told') IS NULL;
BEGIN
    SELECT f.* INTO facts FROM pgblend._document_facts(document_id) AS f;
    SELECT t.* INTO kept FROM pgblend._forget_text(document_id) AS t;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT count(*) INTO kept_judgements
    FROM pgblend_data.judgement AS j
    INNER JOIN pgblend_data.collection AS c ON c.id = j.collection_id
    WHERE c.name = facts.collection AND j.source_key = facts.source_key;
    RETURN QUERY VALUES
        ('passages, vectors, summary and queues', 'now'),
        ('answers of models about its passages', 'now'),
        ('entities', CASE WHEN kept.kept_entities IS NULL
            THEN 'when pgblend worker has looked, but for those that other passages name'
            ELSE format('now, but for %s that other passages name', kept.kept_entities) END),
        ('segments of the lexical index', CASE WHEN is_indexed THEN 'now'
            ELSE 'with the next lexical_rebuild' END),
        ('vocabulary', CASE kept.kept_words WHEN 0 THEN 'now' ELSE format(
            '%s words with the next lexical_rebuild%s', kept.kept_words,
            CASE WHEN is_indexed THEN ': a session adds passages now' ELSE '' END) END),
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

-- _forget_text: delete a document, and its text from index, vocabulary and what models found.
-- Returns how many of its words and entities stay; no row where there is no such document. A shard
-- does not know of the entities, which is NULL: the coordinator looks later.
CREATE OR REPLACE FUNCTION pgblend._forget_text(document_id bigint)
RETURNS TABLE (kept_words bigint, kept_entities bigint)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 1
AS $function$
DECLARE
    forgotten pgblend_data.document;
    collection text;
    found_entities bigint[];
    own_hashes text[];
    own_lexemes text[];
    rebuilt bigint;
BEGIN
    SELECT d.* INTO forgotten FROM pgblend_data.document AS d WHERE d.id = _forget_text.document_id;
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
    -- A door would have the index made before this statement, from the text as well.
    rebuilt := CASE WHEN to_regproc('pgblend._told') IS NULL AND pgblend._check_can_index()
        THEN pgblend._index_collection(forgotten.collection_id, 'rebuild', 1) ELSE 0 END;
    IF rebuilt IS NULL THEN
        RAISE EXCEPTION 'the lexical index of collection "%" could not be made anew', collection
            USING ERRCODE = 'PB003',
            HINT = 'The warning says why. Mend it and call forget_document again.';
    END IF;

    RETURN QUERY SELECT (
        SELECT count(DISTINCT v.lexeme) FROM pgblend_data.vocabulary AS v
        WHERE v.collection_id = forgotten.collection_id AND v.lexeme = ANY(own_lexemes)
            AND NOT EXISTS (
                SELECT FROM pgblend_data.chunk AS h
                WHERE h.collection_id = v.collection_id
                    AND h.lexemes @@ quote_literal(v.lexeme)::pg_catalog.tsquery)
    ), (
        SELECT count(*) FROM pgblend_data.entity AS t
        WHERE t.id = ANY(found_entities)
        HAVING NOT EXISTS (SELECT FROM pgblend_data.shard_self)
    );
END;
$function$;

-- delete_document: delete a document, its chunks and vectors; false where there is none.
CREATE OR REPLACE FUNCTION blend.delete_document(document_id bigint)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    DELETE FROM pgblend_data.document AS d WHERE d.id = delete_document.document_id;
    RETURN FOUND;
END;
$function$;

CREATE OR REPLACE FUNCTION blend.delete_document(collection text, source_key text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN blend.delete_document(pgblend._document_id(
        pgblend._compartments((pgblend._named_collection(delete_document.collection)).id),
        delete_document.source_key));
END;
$function$;
