-- _html_text: the text of HTML columns, a blank line between them, or else the title.
-- columns is a JSON array of texts and NULLs, as readers of attached tables return it.
CREATE OR REPLACE FUNCTION pgblend._html_text(columns text, title text)
RETURNS text
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.lexical.html import html_text

return html_text(json.loads(columns), title)
$python$;
