-- _keep_mentions: make the edges of mentions in passages of this shard those that are given;
-- returns how many of them are here.
-- mentions is an array of [document, chunk, document meant, name], of other shards too. Documents
-- meant that are not here are noted: they may have gone meanwhile (_settle_graph).
CREATE OR REPLACE FUNCTION pgblend._keep_mentions(collection text, mentions jsonb)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.mention_store import keep_mentions
from pgblend.plpy.shards.relay import writable_id

HERE = (
    "SELECT c.id FROM pgblend_data.chunk AS c WHERE c.collection_id = $1 AND c.id = ANY($2)")
NOTE = (
    "INSERT INTO pgblend_data.graph_change (collection_id, node) SELECT $1, m.id * 4"
    " FROM unnest($2) AS m (id)"
    " WHERE NOT EXISTS (SELECT FROM pgblend_data.document AS d WHERE d.id = m.id)")
own_id = writable_id(db, collection)
given = [tuple(one) for one in json.loads(mentions)]
rows = db.run(HERE, ["bigint", "bigint[]"], own_id, sorted({one[1] for one in given}))
here = {row["id"] for row in rows}
wanted = [one for one in given if one[1] in here]
db.run(NOTE, ["bigint", "bigint[]"], own_id, keep_mentions(db, own_id, wanted))
return len(wanted)
$python$;
