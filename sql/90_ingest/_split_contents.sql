-- _split_contents: split texts into chunks, an array of them for each text, as _insert_chunks takes
-- them, with approximate token counts.
-- `settings` has chunk_size_tokens, chunk_overlap_tokens and min_chunk_size_tokens. Blank text
-- gives no chunks.
CREATE OR REPLACE FUNCTION pgblend._split_contents(contents text[], settings jsonb)
RETURNS jsonb[]
LANGUAGE plpython3u
IMMUTABLE PARALLEL SAFE
STRICT
SET search_path = pg_catalog, pg_temp
AS $python$
#include plpy/approximate_tokens.py
#include plpy/split_text.py
import json
sizes = json.loads(settings)
return [
    json.dumps(split_text(
        content,
        approximate_tokens,
        sizes["chunk_size_tokens"],
        sizes["chunk_overlap_tokens"],
        sizes["min_chunk_size_tokens"],
    ))
    for content in contents
]
$python$;

COMMENT ON FUNCTION pgblend._split_contents(text[], jsonb) IS
'Split texts into chunks, an array of them for each text, with approximate token counts.';
