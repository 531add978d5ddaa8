-- _name_field: the words of a source key, and then the names that a document is asked for by.
-- NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._name_field(source_key text)
RETURNS text[]
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.text.names import name_field

return name_field(source_key)
$python$;
