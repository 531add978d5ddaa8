-- _split_content: split a text into chunks, with approximate token counts; no rows for blank text.
-- `document` is put into each of them. `settings` has chunk_size_tokens, chunk_overlap_tokens and
-- min_chunk_size_tokens.
CREATE OR REPLACE FUNCTION pgblend._split_content(document integer, content text, settings jsonb)
RETURNS SETOF pgblend_data.given_chunk
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
ROWS 10
SET search_path = pg_catalog, pg_temp
AS $python$
import json
from pgblend.plpy.text.split import split_text
from pgblend.plpy.text.tokens import approximate_tokens

sizes = json.loads(settings)
chunks = split_text(
    content,
    approximate_tokens,
    sizes["chunk_size_tokens"],
    sizes["chunk_overlap_tokens"],
    sizes["min_chunk_size_tokens"],
)
unknown = dict.fromkeys(("heading", "kind", "pages", "piece_tokens", "metadata"))
return [unknown | chunk | {"document": document} for chunk in chunks]
$python$;
