-- _index_parts: title, heading, content and its part before own_start as the parser gets them, and
-- the identifiers of all as a tsvector's text.
-- One call for a chunk, where five cost more than to_tsvector itself. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._index_parts(
    title text,
    heading text,
    content text,
    own_start integer
)
RETURNS text[]
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.text.words import index_parts

return index_parts(title, heading, content, own_start)
$python$;
