-- _json_without_controls: _uncontrolled_json of JSON that has control characters.
CREATE OR REPLACE FUNCTION pgblend._json_without_controls(given jsonb)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.forms import uncontrolled_json

return uncontrolled_json(given)
$python$;

-- _refuse_nested: raise that metadata is nested too deep: programs read JSON to some depth.
CREATE OR REPLACE FUNCTION pgblend._refuse_nested(given jsonb)
RETURNS jsonb
LANGUAGE plpgsql
IMMUTABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RAISE EXCEPTION 'metadata is nested more than 100 deep: %', left(given::text, 100)
        USING ERRCODE = '22023', HINT = 'Store what is nested deeper as a text.';
END;
$function$;

-- _uncontrolled_json: JSON whose keys and texts are _uncontrolled; numbers stay as written.
-- Written as text it has escapes for all but DEL and what follows it: few values have any. 22023
-- where it is nested more than 100 deep.
CREATE OR REPLACE FUNCTION pgblend._uncontrolled_json(given jsonb)
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL UNSAFE
RETURN CASE
    WHEN jsonb_path_exists(given, '$.**{100}') THEN pgblend._refuse_nested(given)
    WHEN given::text ~ U&'\\\\(u00|[bfr])|[\007F-\009F]'
        THEN pgblend._json_without_controls(given)
    ELSE given
END;
