-- _without_controls: _uncontrolled of text that has control characters. NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._without_controls(content text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.forms import uncontrolled

return uncontrolled(content)
$python$;

-- _uncontrolled: text without commands of terminals (colours) and control characters
-- (plpy/lexical/forms.py). NULL gives NULL. One expression and not STRICT, so that it is inlined.
CREATE OR REPLACE FUNCTION pgblend._uncontrolled(content text)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL UNSAFE
RETURN CASE
    WHEN content ~ U&'[\0001-\0008\000B\000C\000E-\001F\007F-\009F]|\000D(?!\000A)'
        THEN pgblend._without_controls(content)
    ELSE content
END;
