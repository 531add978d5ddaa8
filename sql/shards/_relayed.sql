-- _relayed: what the shards answer for a routine, merged (plpy/shards/relay.py): its value as JSON,
-- or a list of its rows.
-- `arguments` is a list. A routine that no coordinator asks for is an error.
CREATE OR REPLACE FUNCTION pgblend._relayed(name text, arguments jsonb)
RETURNS json
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.shards.relay import relayed

return db.answer(relayed, name, json.loads(arguments))
$python$;
