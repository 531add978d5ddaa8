-- _join_bigrams: a marked passage of _spaced_bigrams' text as it was written; marks are U+E000 and
-- U+E001. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._join_bigrams(passage text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL SAFE
STRICT
AS $python$
#include plpy/join_bigrams.py
return join_bigrams(passage, "\ue000", "\ue001")
$python$;

COMMENT ON FUNCTION pgblend._join_bigrams(text) IS
'A marked passage of _spaced_bigrams'' text as it was written; marks are U+E000 and U+E001.';
