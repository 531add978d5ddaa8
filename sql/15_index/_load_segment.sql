-- _load_segment: write a segment that was saved, without the chunks that are not to be in it;
-- returns how many chunks it holds.
-- The arrays are those of table segment, `blocks` those of its postings in order. `alive` are the
-- chunks to keep. 22023 where the arrays do not fit each other.
-- Rows of other collections' chunks, or that name another document, are left out.
-- Runs with its owner's rights, for a transaction that holds the collection's claim; else 42501.
CREATE OR REPLACE FUNCTION pgblend._load_segment(
    collection_id bigint,
    saved pgblend_data.segment,
    blocks bytea[],
    alive bigint[]
)
RETURNS integer
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $python$
import numpy as np
from pgblend.plpy.lexical.segment import (
    add_postings, merge_postings, segment_arguments, unpack_segment)

plpy.execute(
    plpy.prepare("SELECT pgblend._check_index_claim($1)", ["bigint"]), [collection_id])
document_of = {
    row["id"]: row["document_id"]
    for row in plpy.cursor(
        plpy.prepare(
            "SELECT c.id, c.document_id FROM pgblend_data.chunk AS c"
            " WHERE c.collection_id = $1 AND c.id = ANY($2)", ["bigint", "bigint[]"]),
        [collection_id, alive])
}
try:
    segment = unpack_segment(saved)
    segment["alive"] &= np.array([
        document_of.get(chunk_id) == document_id
        for chunk_id, document_id in zip(
            segment["chunk_ids"].tolist(), segment["document_ids"].tolist())
    ])
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
