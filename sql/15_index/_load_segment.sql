-- _load_segment: write a segment that was saved, without the chunks that are not to be in it;
-- returns how many chunks it holds.
-- The arrays are those of table segment, `blocks` those of its postings in order. `alive` are the
-- chunks to keep. 22023 where the arrays do not fit each other.
CREATE OR REPLACE FUNCTION pgblend._load_segment(
    collection_id bigint,
    saved pgblend_data.segment,
    blocks bytea[],
    alive bigint[]
)
RETURNS integer
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $python$
#include plpy/add_postings.py
#include plpy/merge_postings.py
#include plpy/segment_arguments.py
#include plpy/unpack_segment.py
import numpy as np

try:
    segment = unpack_segment(saved)
    segment["alive"] &= np.isin(segment["chunk_ids"], np.array(alive, np.int64))
    merged = merge_postings([add_postings(segment, blocks or [])])
except ValueError as error:
    plpy.error(
        f"a saved segment is damaged: {error}", sqlstate="22023",
        hint="Save it again, or make it anew: lexical_rebuild.")
if len(merged["chunk_ids"]):
    plpy.execute(
        plpy.prepare(
            "SELECT pgblend._write_segment($1, $2, $3, $4, $5)",
            ["bigint", "text", "bigint[]", "bytea[]", "bytea[]"]),
        [collection_id, saved["text_search_config"], *segment_arguments(merged)])
return len(merged["chunk_ids"])
$python$;

COMMENT ON FUNCTION pgblend._load_segment(
    bigint, pgblend_data.segment, bytea[], bigint[]
) IS
'Write a segment that was saved, without the chunks that are not to be in it; returns how many '
'chunks it holds.';
