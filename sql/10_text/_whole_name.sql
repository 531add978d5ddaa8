-- _whole_name: a name as a whole, in one case and with single spaces; '' for what is too long for a
-- name. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._whole_name(name text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.text.identifiers import whole_name

return whole_name(name)
$python$;
