-- _query_operands: some texts of a query as tsqueries under a text search configuration.
-- `place` counts the texts from 0. Of a text that `is_words` any word will do, another is a phrase.
-- Stop words alone ask for nothing: they give no row, and no NOTICE. NULL gives none.
CREATE OR REPLACE FUNCTION pgblend._query_operands(
    config_name text,
    texts text[],
    is_words boolean[]
)
RETURNS TABLE (place integer, operand text)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET client_min_messages = warning
AS $function$
DECLARE
    config regconfig := pgblend._regconfig(config_name);
BEGIN
    RETURN QUERY
    SELECT t.place::integer - 1, o.operand::text
    FROM unnest(texts, is_words) WITH ORDINALITY AS t (text, is_words, place)
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN t.is_words THEN pgblend._lexeme_tsquery(
                tsvector_to_array(to_tsvector(config, pgblend._indexable_text(t.text, config))))
            ELSE phraseto_tsquery(config, pgblend._indexable_text(t.text, config)) END AS operand
    ) AS o
    WHERE numnode(o.operand) > 0
    ORDER BY t.place;
END;
$function$;
