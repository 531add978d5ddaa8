-- _plain_query: a query without its operators: quotation marks, leading hyphens and the word or.
CREATE OR REPLACE FUNCTION pgblend._plain_query(query text)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(string_agg(w.word, ' ' ORDER BY w.place), '')
    FROM regexp_split_to_table(
        regexp_replace(query, '(^|\s)-+|"', ' ', 'g'), '\s+'
    ) WITH ORDINALITY AS w (word, place)
    WHERE w.word <> '' AND lower(w.word) <> 'or';
END;
