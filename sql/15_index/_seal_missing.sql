-- _seal_missing: make segments, from their tsvectors, of a collection's chunks of one language that
-- are neither pending nor in a segment; returns how many chunks.
-- One snapshot says which. Tombstones stay for the seal that follows: a chunk that is deleted
-- meanwhile is in a new segment already. The caller holds the collection's seal lock.
-- Runs with its owner's rights, for a transaction that holds the collection's claim; else 42501.
CREATE OR REPLACE FUNCTION pgblend._seal_missing(
    collection_id bigint,
    config_name text
)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
STRICT
SECURITY DEFINER
SET client_encoding = 'UTF8'
AS $python$
import numpy as np
from pgblend.plpy.lexical.pending import unpack_pending
from pgblend.plpy.lexical.segment import merge_postings, write_segment
from pgblend.plpy.lexical.records import pack_chunks

BATCH = 65_536
db.run("SELECT pgblend._check_index_claim($1)", ["bigint"], collection_id)
present = [
    chunk_id
    for segment in db.run(
        "SELECT s.chunk_ids FROM pgblend_data.segment AS s"
        " WHERE s.collection_id = $1 AND s.text_search_config = $2",
        ["bigint", "text"], collection_id, config_name)
    for chunk_id in np.frombuffer(segment["chunk_ids"], "<i8").tolist()
]
cursor = plpy.cursor(
    plpy.prepare(
        "SELECT c.id, c.document_id, c.chunk_index, c.own_position,"
        " tsvectorsend(c.lexemes) AS vector"
        " FROM pgblend_data.chunk AS c"
        " WHERE c.collection_id = $1 AND c.text_search_config = $2"
        " AND NOT EXISTS (SELECT FROM pgblend_data.pending AS p WHERE p.chunk_id = c.id)"
        " AND NOT EXISTS (SELECT FROM unnest($3) AS present (id) WHERE present.id = c.id)",
        ["bigint", "text", "bigint[]"]),
    [collection_id, config_name, present])
total = 0
while rows := list(cursor.fetch(BATCH)):
    total += len(rows)
    packed = [*pack_chunks(db, rows)]
    source = unpack_pending({
        "chunk_ids": np.array([row["id"] for row in rows], ">i8").tobytes(),
        "document_ids": np.array([row["document_id"] for row in rows], ">i8").tobytes(),
        "chunk_indexes": np.array([row["chunk_index"] for row in rows], ">i4").tobytes(),
        "lengths": np.array([one.length for one in packed], ">i4").tobytes(),
        "own_lengths": np.array([one.own_length for one in packed], ">i4").tobytes(),
        "record_counts": np.array([len(one.records) // 14 for one in packed], ">i4").tobytes(),
        "records": b"".join([one.records for one in packed]),
    })
    write_segment(db, collection_id, config_name, merge_postings([source]))
return total
$python$;
