-- _settle_graph: bring the graph of all shards up to date with some of what changed on them;
-- returns how many changes those were.
-- It begins anew where it was killed: a change is forgotten once edges are as they should be. Who
-- comes while another does this waits. A shard that is away is an error.
CREATE OR REPLACE FUNCTION pgblend._settle_graph()
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.shards.links import settle_graph

return db.answer(settle_graph)
$python$;
