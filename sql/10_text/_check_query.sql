-- _check_query: raise unless a query is within the setting limits, before anything parses it.
-- NULL is. Characters are counted first, so that what counts words and operators is bounded itself.
-- A query of up to 100 characters has no more words than that.
CREATE OR REPLACE FUNCTION pgblend._check_query(query text)
RETURNS void
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.query import query_size

def check(size, unit, limit):
    db.run("SELECT pgblend._check_size('the query', $1, $2, $3)", ["bigint", "text", "text"],
        size, unit, limit)

if len(query) > 100:
    check(len(query), "characters", "query_characters")
    words, operators = query_size(query)
    check(operators, "operators (phrases, exclusions, or)", "query_operators")
    check(words, "different words", "query_words")
$python$;
