-- _insert_links: store links of documents of one collection, resolve them, and return how many
-- were stored.
-- links has an array of {target, kind, type, line, weight, metadata} for each of document_ids; what
-- is wrong with one is an error. What leads nowhere by its form (mailto:, a mere fragment) is left
-- out.
CREATE OR REPLACE FUNCTION pgblend._insert_links(
    collection_id bigint,
    document_ids bigint[],
    links jsonb[],
    origin text
)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.graph.store import insert_links

return db.answer(insert_links, collection_id, document_ids, links, origin)
$python$;
