-- _names_found: which of some names passages of a collection on this shard have.
-- Names are an array of words made comparable, as link_name gives them. One that more than most
-- documents mention here is told once, without a passage.
CREATE OR REPLACE FUNCTION pgblend._names_found(collection text, names jsonb, most bigint)
RETURNS TABLE (document_id bigint, chunk_id bigint, name text)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.mention_store import TEXTS
from pgblend.plpy.graph.mentions import NameFinder, common_names
from pgblend.plpy.shards.relay import writable_id

own_id = writable_id(db, collection)
texts = plpy.cursor(plpy.prepare(TEXTS, ["bigint"]), [own_id])
found = NameFinder(json.loads(names)).found_in(texts)
common = common_names(found, most)
yield from ((None, None, name) for name in sorted(common))
yield from (one for one in found if one[2] not in common)
$python$;
