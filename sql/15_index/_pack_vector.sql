-- _pack_vector: the lexemes of a tsvector in its binary form as records of 14 bytes: term,
-- occurrences by field, of a chunk's own (at positions after own_position) and repeated.
CREATE OR REPLACE FUNCTION pgblend._pack_vector(vector bytea, own_position integer)
RETURNS bytea
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
SET search_path = pg_catalog, pg_temp
AS $python$
from pgblend.plpy.lexical.records import pack_lexemes

term_ids = SD.setdefault("term_ids", {})
if len(term_ids) > 500_000:
    term_ids.clear()
counts = SD.setdefault("counts", {})
if len(counts) > 100:
    counts.clear()
return pack_lexemes(vector, own_position, term_ids, counts.setdefault(own_position, {}))
$python$;
