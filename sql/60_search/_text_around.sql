-- _text_around: the text before and after a chunk, of its document's chunks around it.
-- `chunks` is an array of chunks in order, as _chunks_around gives them; what is asked for is at
-- most so many characters on each side.
CREATE OR REPLACE FUNCTION pgblend._text_around(
    chunks json,
    chunk_index integer,
    characters_before integer,
    characters_after integer,
    OUT context_before text,
    OUT context_after text
)
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.context.around import text_around

return text_around(json.loads(chunks), chunk_index, characters_before, characters_after)
$python$;
