-- lexical_status: the lexical index of a collection, or of all that the caller may read.
-- A chunk is in a segment (sealed) or pending, and is found either way. status is building while
-- another session writes segments. It is error where the last attempt failed, chunks are missing
-- from the index, or what it holds is damaged (all of it is read, to know). It is uninitialized
-- where there are chunks and no index, empty without chunks, else ready. Counts are of chunks,
-- sizes in bytes. A name that the caller sees no collection of is an error.
CREATE OR REPLACE FUNCTION blend.lexical_status(collection text DEFAULT NULL)
RETURNS TABLE (
    collection_name text,
    status text,
    chunks bigint,
    sealed bigint,
    pending bigint,
    dead bigint,
    segments bigint,
    bytes bigint,
    sealed_at timestamptz,
    last_error text,
    failed_at timestamptz
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
AS $function$
DECLARE
    target_id bigint;
BEGIN
    IF collection IS NOT NULL THEN
        target_id := (pgblend._named_collection(collection)).id;
    END IF;
    RETURN QUERY
    SELECT
        c.name,
        CASE
            WHEN b.building THEN 'building'
            WHEN f.failed_at IS NOT NULL OR d.reason IS NOT NULL THEN 'error'
            WHEN n.chunks = n.live + n.pending AND n.chunks = 0 THEN 'empty'
            WHEN n.chunks = n.live + n.pending THEN 'ready'
            WHEN n.live + n.pending = 0 THEN 'uninitialized'
            ELSE 'error'
        END,
        n.chunks,
        n.live,
        n.pending,
        n.dead,
        n.segments,
        n.bytes,
        n.sealed_at,
        coalesce(
            f.message,
            d.reason || ': run lexical_rebuild',
            CASE WHEN n.chunks <> n.live + n.pending THEN format(
                'the index holds %s of %s chunks: run lexical_rebuild',
                n.live + n.pending, n.chunks)
            END),
        f.failed_at
    FROM pgblend_data.collection AS c
    CROSS JOIN LATERAL (
        SELECT count(*) AS dead FROM pgblend_data.tombstone AS b WHERE b.collection_id = c.id
    ) AS t
    CROSS JOIN LATERAL (
        SELECT
            (SELECT count(*) FROM pgblend_data.chunk AS h WHERE h.collection_id = c.id) AS chunks,
            (SELECT count(*) FROM pgblend_data.pending AS p WHERE p.collection_id = c.id)
                AS pending,
            coalesce(sum(g.n - octet_length(g.dead) / 4), 0)::bigint - t.dead AS live,
            coalesce(sum(octet_length(g.dead) / 4), 0)::bigint + t.dead AS dead,
            count(*) AS segments,
            coalesce(sum(g.bytes), 0)::bigint AS bytes,
            max(g.created_at) AS sealed_at
        FROM pgblend_data.segment AS g
        WHERE g.collection_id = c.id
    ) AS n
    CROSS JOIN LATERAL (SELECT pgblend._is_building(c.id) AS building) AS b
    CROSS JOIN LATERAL (
        SELECT CASE WHEN pgblend._has_numpy() AND NOT b.building THEN
            pgblend._index_damage(c.id) END AS reason
    ) AS d
    LEFT JOIN pgblend_data.lexical_failure AS f ON f.collection_id = c.id
    WHERE c.id = coalesce(target_id, c.id)
    ORDER BY c.name;
END;
$function$;

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
