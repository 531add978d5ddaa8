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
    facts record;
    kept record;
    kept_judgements bigint;
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
        ('segments of the lexical index', 'now'),
        ('vocabulary', CASE kept.kept_words WHEN 0 THEN 'now' ELSE format(
            '%s words with the next lexical_rebuild: a session adds passages now',
            kept.kept_words) END),
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
