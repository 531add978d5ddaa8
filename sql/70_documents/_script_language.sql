-- _script_language: the language that the script of a text tells, as its ISO 639-1 code: zh, ja,
-- ko, th, lo, km or my; NULL where it tells none. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._script_language(content text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
SET search_path = pg_catalog, pg_temp
AS $python$
from pgblend.plpy.text.words import script_language

return script_language(content)
$python$;
