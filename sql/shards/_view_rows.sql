-- _view_rows: the rows that a view has on the shards, merged (plpy/shards/relay.py), as JSON.
CREATE OR REPLACE FUNCTION pgblend._view_rows(name text)
RETURNS json
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.shards.relay import viewed

return db.answer(viewed, name)
$python$;
