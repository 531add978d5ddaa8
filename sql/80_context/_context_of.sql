-- _context_of: a context made of the rows of a search: parts, statistics, and the text for a model.
-- What it holds is described in plpy/context/render.py. A search without rows gives no parts.
CREATE OR REPLACE FUNCTION pgblend._context_of(
    query text,
    passages blend.search_result[],
    settings jsonb,
    output_format text
)
RETURNS jsonb
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.context.render import context_document

AROUND = "SELECT pgblend._chunks_around($1, $2) AS chunks"
ids = [row["chunk_id"] for row in passages]
return json.dumps(context_document({
    "query": query or "",
    "format": output_format,
    "settings": json.loads(settings),
    "hits": [{**row, "arms": json.loads(row["arms"])} for row in passages],
    "chunks": json.loads(db.run(AROUND, ["bigint[]", "jsonb"], ids, settings)[0]["chunks"]),
}))
$python$;
