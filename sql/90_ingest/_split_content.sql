-- _split_content: split a text into chunks, as ingest_document takes them, with approximate token
-- counts.
-- `settings` has chunk_size_tokens, chunk_overlap_tokens and min_chunk_size_tokens. Blank text
-- gives no chunks.
CREATE OR REPLACE FUNCTION pgblend._split_content(content text, settings jsonb)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
SET search_path = pg_catalog, pg_temp
AS $python$
import json
from pgblend.plpy.text.split import split_text
from pgblend.plpy.text.tokens import approximate_tokens

sizes = json.loads(settings)
return json.dumps(split_text(
    content,
    approximate_tokens,
    sizes["chunk_size_tokens"],
    sizes["chunk_overlap_tokens"],
    sizes["min_chunk_size_tokens"],
))
$python$;
