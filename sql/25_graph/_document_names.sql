-- _document_names: what links may call a document by, normalised: its path, the last part of it,
-- its address in the web, its aliases (metadata: aliases or alias) and its title.
CREATE OR REPLACE FUNCTION pgblend._document_names(
    source_key text,
    title text,
    uri text,
    metadata jsonb
)
RETURNS TABLE (name text, kind text, full_name text)
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
ROWS 4
AS $python$
import json
from pgblend.plpy.graph.names import document_names

about = json.loads(metadata)
aliases = []
for key in ("alias", "aliases"):
    value = about.get(key)
    aliases += value if isinstance(value, list) else [value]
return document_names(
    source_key, title or "", uri, [alias for alias in aliases if isinstance(alias, str)])
$python$;
