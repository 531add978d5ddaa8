-- _index_damage: what is wrong with a collection's sealed segments; NULL for nothing.
-- Reads all segments and postings, and stops at the first that cannot be right. Needs numpy.
CREATE OR REPLACE FUNCTION pgblend._index_damage(collection_id bigint)
RETURNS text
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.lexical.segment import add_postings, unpack_segment

segments = plpy.cursor(
    plpy.prepare(
        "SELECT s.*, ARRAY(SELECT p.data FROM pgblend_data.posting AS p"
        " WHERE p.segment_id = s.id AND p.block BETWEEN 0 AND (SELECT count(*)"
        " FROM pgblend_data.posting AS c WHERE c.segment_id = s.id) - 1"
        " ORDER BY p.block) AS blocks"
        " FROM pgblend_data.segment AS s WHERE s.collection_id = $1 ORDER BY s.id", ["bigint"]),
    [collection_id])
for segment in segments:
    try:
        add_postings(unpack_segment(segment), segment["blocks"])
    except ValueError as error:
        return f"segment {segment['id']}: {error}"
return None
$python$;
