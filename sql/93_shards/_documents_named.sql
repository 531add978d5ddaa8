-- _documents_named: the documents of a collection on this shard that links may call by some names.
CREATE OR REPLACE FUNCTION pgblend._documents_named(collection text, names jsonb)
RETURNS TABLE (name text, document_id bigint, source_key text, kind text, full_name text)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.store import candidates_of

of = "SELECT (pgblend._named_collection($1)).id AS id"
return candidates_of(db, db.run(of, ["text"], collection)[0]["id"], json.loads(names))
$python$;
