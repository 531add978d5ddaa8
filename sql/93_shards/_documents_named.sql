-- _documents_named: the documents of a collection on this shard that links may call by some names.
CREATE OR REPLACE FUNCTION pgblend._documents_named(collection text, names jsonb)
RETURNS TABLE (name text, document_id bigint, source_key text, kind text, full_name text)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.store import candidates_of
from pgblend.plpy.shards.relay import named_id

return candidates_of(db, named_id(db, collection), json.loads(names))
$python$;
