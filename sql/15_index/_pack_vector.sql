-- _pack_vector: the records of a tsvector in its binary form.
CREATE OR REPLACE FUNCTION pgblend._pack_vector(vector bytea)
RETURNS bytea
LANGUAGE plpython3u
IMMUTABLE PARALLEL SAFE
STRICT
AS $python$
#include plpy/pack_lexemes.py
term_ids = SD.setdefault("term_ids", {})
if len(term_ids) > 500_000:
    term_ids.clear()
return pack_lexemes(vector, term_ids)
$python$;

COMMENT ON FUNCTION pgblend._pack_vector(bytea) IS
'The records of a tsvector in its binary form (tsvectorsend).';
