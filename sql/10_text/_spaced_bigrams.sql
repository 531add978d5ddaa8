-- _spaced_bigrams: text whose runs of scripts without word spaces are written as overlapping pairs.
-- NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._spaced_bigrams(content text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.text.words import spaced_bigrams

return spaced_bigrams(content)
$python$;
