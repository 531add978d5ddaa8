-- _pack_vector: the lexemes of a tsvector in its binary form (UTF-8) as records of 14 bytes: term,
-- occurrences by field, of a chunk's own (at positions after own_position) and repeated; and the
-- lengths of the chunk and of its own part, in occurrences.
CREATE OR REPLACE FUNCTION pgblend._pack_vector(
    vector bytea,
    own_position integer,
    OUT records bytea,
    OUT length integer,
    OUT own_length integer
)
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.records import pack_lexemes, read_lexemes

return tuple(pack_lexemes(read_lexemes(vector), own_position, {}))
$python$;
