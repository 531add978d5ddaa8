-- _resolve_links: find anew what the links of some names (NULL: all) mean, and update their edges;
-- returns how many changed.
-- What a link means depends on the documents there are, not on the order in which they came. Two
-- links to one document give one edge of a type, of the larger weight.
CREATE OR REPLACE FUNCTION pgblend._resolve_links(collection_id bigint, names text[])
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.graph.store import resolve_links

return db.answer(resolve_links, collection_id, names)
$python$;
