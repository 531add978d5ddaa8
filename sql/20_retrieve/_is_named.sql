-- _is_named: whether a chunk's document has a name that the query asks for ("==…", _parse_query).
-- NULL, and a chunk that the caller does not see, give false.
CREATE OR REPLACE FUNCTION pgblend._is_named(query text, chunk_id bigint)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT coalesce(bool_or(c.lexemes @@ pgblend._lexeme_tsquery(ARRAY(
        SELECT l.lexeme
        FROM unnest(p.lexemes) AS l (lexeme)
        WHERE l.lexeme LIKE '==%'
    ))), false)
    FROM pgblend_data.chunk AS c
    CROSS JOIN LATERAL pgblend._parse_query(_is_named.query, c.text_search_config) AS p
    WHERE c.id = _is_named.chunk_id;
END;
