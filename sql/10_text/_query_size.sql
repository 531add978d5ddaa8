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
