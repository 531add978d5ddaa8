-- _query_words: the words of a query that rank, and whether a document has them.
-- Parsed as the words' arm does it, in the document's language. Words that become the same lexeme
-- are one.
CREATE OR REPLACE FUNCTION pgblend._query_words(
    query text,
    document_id bigint,
    collection_ids bigint[],
    OUT present text[],
    OUT lacking text[]
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    config text := (
        SELECT d.text_search_config FROM pgblend_data.document AS d
        WHERE d.id = _query_words.document_id);
    configs text[] := ARRAY(
        SELECT DISTINCT l.text_search_config FROM pgblend_data.collection_language AS l
        WHERE l.collection_id = ANY(collection_ids));
    parsed record := pgblend._parse_query(query, config, CASE
        WHEN cardinality(configs) > 1 THEN pgblend._query_stop_words(query, configs) ELSE '{}'
    END);
BEGIN
    SELECT
        coalesce(array_agg(w.word ORDER BY w.place) FILTER (WHERE w.is_there), '{}'),
        coalesce(array_agg(w.word ORDER BY w.place) FILTER (WHERE NOT w.is_there), '{}')
    INTO present, lacking
    FROM (
        SELECT
            l.place,
            l.word,
            EXISTS (
                SELECT FROM pgblend_data.chunk AS c
                WHERE c.document_id = _query_words.document_id
                    AND c.lexemes @@ pgblend._lexeme_tsquery(ARRAY[l.lexeme])
            ) AS is_there
        FROM unnest(parsed.lexemes, pgblend._words_of_lexemes(query, config, parsed.lexemes))
            WITH ORDINALITY AS l (lexeme, word, place)
        WHERE l.lexeme NOT LIKE '=%'  -- an identifier as a whole: its words tell as much
    ) AS w;
END;
$function$;
