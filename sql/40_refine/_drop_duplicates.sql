-- _drop_duplicates: drop_duplicates of checked arguments, places from 1.
-- Held to the setting limits here, since its time grows with the square of the texts.
CREATE OR REPLACE FUNCTION pgblend._drop_duplicates(
    content_hashes text[],
    document_ids bigint[],
    start_offsets integer[],
    end_offsets integer[],
    contents text[],
    overlap double precision,
    similarity double precision,
    per_document integer,
    n integer
)
RETURNS TABLE (
    place integer,
    duplicate_of integer,
    reason text,
    likeness double precision
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
ROWS 100
AS $python$
from pgblend.plpy.refine.duplicates import drop_duplicates, near_duplicates

longest = max(n, *(len(one or ()) for one in (content_hashes, document_ids, contents)))
if longest > 100:
    plpy.execute(
        plpy.prepare(
            "SELECT pgblend._check_size('the longest array', $1, 'items', 'array_items')",
            ["bigint"]),
        [longest])
near = None if contents is None else near_duplicates(contents, similarity)
dropped = drop_duplicates(
    content_hashes, document_ids, start_offsets, end_offsets, near, overlap, per_document, n)
return [
    (place, None, None, None) if row is None else (place, row[0] + 1, row[1], row[2])
    for place, row in enumerate(dropped, 1)
]
$python$;
