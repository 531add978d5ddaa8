-- _context_document: a context as one JSON document: parts, statistics, and the text for a model.
-- `request` and the result are described in plpy/context/render.py. Where one who reads cannot
-- see a passage, the caller has left it out.
CREATE OR REPLACE FUNCTION pgblend._context_document(request json)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.context.render import context_document

return json.dumps(context_document(json.loads(request)))
$python$;
