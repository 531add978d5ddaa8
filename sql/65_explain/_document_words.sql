-- _document_words: a query's words as the lexical arm parses them in a document's language, and
-- whether it has each.
-- `words` are those whose language is looked for, `configs` the text search configurations that are
-- searched. An identifier as a whole is left out: its words tell as much.
CREATE OR REPLACE FUNCTION pgblend._document_words(
    document_id bigint,
    query text,
    words text,
    configs text[]
)
RETURNS TABLE (word text, is_there boolean)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 10
AS $function$
BEGIN
    RETURN QUERY
    SELECT
        l.word,
        EXISTS (
            SELECT FROM pgblend_data.chunk AS c
            WHERE c.document_id = d.id AND c.lexemes @@ pgblend._lexeme_tsquery(ARRAY[l.lexeme]))
    FROM pgblend_data.document AS d
    CROSS JOIN LATERAL pgblend._parse_query(query, d.text_search_config, CASE
        WHEN cardinality(configs) > 1 THEN pgblend._query_stop_words(words, configs)
        ELSE '{}' END) AS p
    CROSS JOIN LATERAL unnest(
        p.lexemes, pgblend._words_of_lexemes(query, d.text_search_config, p.lexemes)
    ) WITH ORDINALITY AS l (lexeme, word, place)
    WHERE d.id = _document_words.document_id AND l.lexeme NOT LIKE '=%'
    ORDER BY l.place;
END;
$function$;
