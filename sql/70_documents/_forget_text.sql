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
    rebuilt := blend.lexical_rebuild(collection);
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
