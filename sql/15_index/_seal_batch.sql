-- _seal_batch: move a batch of pending chunks of one language into a segment; returns how many.
-- Small segments and those with many dead rows are merged into the new one; tombstones go to the
-- dead lists of the others. All in the caller's transaction: readers see either the old state or
-- the new. The caller holds the collection's seal lock.
CREATE OR REPLACE FUNCTION pgblend._seal_batch(collection_id bigint, config_name text)
RETURNS integer
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
STRICT
SET search_path FROM CURRENT
AS $python$
#include plpy/add_postings.py
#include plpy/choose_merge.py
#include plpy/find_rows.py
#include plpy/merge_postings.py
#include plpy/segment_arguments.py
#include plpy/unpack_pending.py
#include plpy/unpack_segment.py
import numpy as np

def run(query, types, *values):
    if query not in SD:
        SD[query] = plpy.prepare(query, types)
    return SD[query].execute(list(values))

def with_postings(segment):
    stored = run("SELECT * FROM pgblend._segment_postings($1)", ["bigint"], segment["id"])[0]
    return add_postings(segment, stored)

scope = (["bigint", "text"], collection_id, config_name)
pending = unpack_pending(run("SELECT * FROM pgblend._take_pending($1, $2)", *scope)[0])
tombstones = run("SELECT pgblend._take_tombstones($1, $2) AS ids", *scope)[0]["ids"]
segments = [unpack_segment(row) for row in run(
    "SELECT * FROM pgblend_data.segment WHERE collection_id = $1 AND text_search_config = $2"
    " ORDER BY id", *scope)]
changed = set()
if tombstones:
    buried = np.frombuffer(tombstones, ">i8")
    for place, segment in enumerate(segments):
        found = find_rows(segment["chunk_ids"], buried)
        if len(found):
            segment["alive"][found] = False
            changed.add(place)

sizes = [len(segment["chunk_ids"]) for segment in segments]
live = [int(np.count_nonzero(segment["alive"])) for segment in segments]
new_rows = 0 if pending is None else len(pending["chunk_ids"])
chosen = choose_merge(sizes, live, new_rows)
for place in changed - set(chosen):
    run("UPDATE pgblend_data.segment SET dead = $2 WHERE id = $1", ["bigint", "bytea"],
        segments[place]["id"],
        np.flatnonzero(~segments[place]["alive"]).astype("<i4").tobytes())

sources = [with_postings(segments[place]) for place in chosen]
sources += [] if pending is None else [pending]
if not sources:
    return 0
merged = merge_postings(sources)
old_ids = [segments[place]["id"] for place in chosen]
run("DELETE FROM pgblend_data.posting WHERE segment_id = ANY($1)", ["bigint[]"], old_ids)
run("DELETE FROM pgblend_data.segment WHERE id = ANY($1)", ["bigint[]"], old_ids)
if len(merged["chunk_ids"]):
    run(
        "SELECT pgblend._write_segment("
        "$1, $2, $3, $4, $5::text::bigint[], $6::text::integer[], $7::text::integer[], $8, $9, $10)",
        ["bigint", "text", "bigint[]", "bytea[]", "text", "text", "text", "bytea", "bytea", "integer"],
        collection_id, config_name, *segment_arguments(merged),
    )
return new_rows
$python$;

COMMENT ON FUNCTION pgblend._seal_batch(bigint, text) IS
'Move a batch of pending chunks of one language into a segment, merging small ones; returns how '
'many chunks. The caller holds the collection''s seal lock.';
