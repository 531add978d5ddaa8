-- _query_size: how many different words a query has, and how many operators. NULL gives NULLs.
CREATE OR REPLACE FUNCTION pgblend._query_size(
    query text,
    OUT words integer,
    OUT operators integer
)
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.text.query import query_size

return query_size(query)
$python$;

-- _check_query: raise unless a query is within the setting limits, before anything parses it.
-- NULL is. Characters are counted first, so that what counts words and operators is bounded itself.
CREATE OR REPLACE FUNCTION pgblend._check_query(query text)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    size record;
BEGIN
    IF query IS NULL OR length(query) <= 100 THEN
        RETURN;  -- it has no more words than that
    END IF;
    PERFORM pgblend._check_size('the query', length(query), 'characters', 'query_characters');
    size := pgblend._query_size(query);
    PERFORM pgblend._check_size(
        'the query', size.operators, 'operators (phrases, exclusions, or)', 'query_operators');
    PERFORM pgblend._check_size('the query', size.words, 'different words', 'query_words');
END;
$function$;
