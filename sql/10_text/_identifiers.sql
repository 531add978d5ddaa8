-- _identifiers: the identifiers and codes of a text (ERR-1042, foo.bar(), /etc/fstab), case-folded.
-- with_parts adds the names within them that are identifiers as well. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._identifiers(content text, with_parts boolean)
RETURNS text[]
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.text.identifiers import identifiers

return identifiers(content, with_parts)
$python$;
