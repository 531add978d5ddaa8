-- _json_without_controls: _uncontrolled_json of JSON that has control characters.
CREATE OR REPLACE FUNCTION pgblend._json_without_controls(given jsonb)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.text.forms import uncontrolled_json

return uncontrolled_json(given)
$python$;

-- _uncontrolled_json: JSON whose keys and texts are _uncontrolled; numbers stay as written.
-- Written as text it has escapes for all but DEL and what follows it: few values have any.
CREATE OR REPLACE FUNCTION pgblend._uncontrolled_json(given jsonb)
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL UNSAFE
RETURN CASE
    WHEN given::text ~ U&'\\\\(u00|[bfr])|[\007F-\009F]'
        THEN pgblend._json_without_controls(given)
    ELSE given
END;
