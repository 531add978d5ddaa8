-- lexical_seal: seal what is pending of a collection now, or of all that the caller may write;
-- returns how many chunks.
-- 0 where another session seals already, or the server's Python has no numpy (a NOTICE says so).
-- NULL where it failed: lexical_status() says why, and the old segments go on serving. The sealed
-- chunks cannot be deleted by others until the transaction ends.
CREATE OR REPLACE FUNCTION blend.lexical_seal(collection text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    targets bigint[];
    target_id bigint;
    total bigint := 0;
BEGIN
    IF collection IS NOT NULL THEN
        targets := pgblend._compartments((pgblend._writable_collection(collection)).id);
    END IF;
    IF NOT EXISTS (  -- nothing to do: numpy is not loaded for that
        SELECT FROM pgblend_data.pending AS p
        WHERE targets IS NULL OR p.collection_id = ANY(targets)
        UNION ALL
        SELECT FROM pgblend_data.tombstone AS t
        WHERE targets IS NULL OR t.collection_id = ANY(targets)
        UNION ALL
        SELECT FROM pgblend_data.lexical_failure AS f
        WHERE targets IS NULL OR f.collection_id = ANY(targets))
        OR NOT pgblend._check_can_index()
    THEN
        RETURN 0;
    END IF;
    FOR target_id IN
        SELECT c.id FROM pgblend_data.collection AS c
        WHERE (targets IS NULL OR c.id = ANY(targets)) AND pgblend._may_write(c.id)
        ORDER BY c.id
    LOOP
        total := total + pgblend._index_collection(target_id, 'seal', 1);
    END LOOP;
    RETURN total;
END;
$function$;

-- _seal_waiting: seal the collections that at least so many chunks wait in; returns how many.
-- For workers: what many small transactions left, whose own seal at commit is one in 256 chunks. A
-- collection that failed within the last minute is left alone; 0 without numpy.
CREATE OR REPLACE FUNCTION pgblend._seal_waiting(at_least integer)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target bigint;
    total bigint := 0;
BEGIN
    IF NOT pgblend._has_numpy() THEN
        RETURN 0;
    END IF;
    FOR target IN
        SELECT p.collection_id
        FROM pgblend_data.pending AS p
        WHERE pgblend._may_write(p.collection_id)
            AND NOT EXISTS (
                SELECT FROM pgblend_data.lexical_failure AS f
                WHERE f.collection_id = p.collection_id
                    AND f.failed_at > now() - interval '1 minute'
                    AND f.failed_at < clock_timestamp() + interval '1 minute')
        GROUP BY p.collection_id
        HAVING count(*) >= at_least
        ORDER BY p.collection_id
    LOOP
        total := total + coalesce(pgblend._index_collection(target, 'seal', at_least), 0);
    END LOOP;
    RETURN total;
END;
$function$;

-- _index_collection: seal or rebuild ('rebuild'), so that a failure changes nothing but is
-- remembered.
-- A failure becomes a WARNING and a row of lexical_failure, which an error would roll back. The
-- result is then NULL, and the old segments go on serving. A rebuild seals what is pending as
-- well, from the tsvectors, whatever pending says; chunks that another transaction is deleting
-- stay there. Where somebody else seals, it is an error.
CREATE OR REPLACE FUNCTION pgblend._index_collection(
    collection_id bigint,
    action text,
    at_least integer
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    missing bigint := 0;
    chunk_count bigint;
BEGIN
    IF action = 'rebuild' THEN
        missing := pgblend._rebuild_segments(collection_id);
    END IF;
    chunk_count := missing + pgblend._seal_collection(collection_id, at_least);
    DELETE FROM pgblend_data.lexical_failure AS f
    WHERE f.collection_id = _index_collection.collection_id;
    RETURN chunk_count;
EXCEPTION
    WHEN lock_not_available OR SQLSTATE 'PB017' THEN
        RAISE;
    WHEN OTHERS THEN
        PERFORM pgblend._note_failure(collection_id, format('%s (%s)', SQLERRM, SQLSTATE));
        RETURN NULL;
END;
$function$;

-- _rebuild_segments: drop a collection's segments and make them anew; returns how many chunks they
-- have.
CREATE OR REPLACE FUNCTION pgblend._rebuild_segments(collection_id bigint)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
STRICT
AS $function$
BEGIN
    PERFORM pgblend._drop_index(collection_id);
    RETURN pgblend._seal_all_missing(collection_id);
END;
$function$;

-- _drop_index: claim a collection's index, and drop all of it but what deletions noted.
CREATE OR REPLACE FUNCTION pgblend._drop_index(collection_id bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM pgblend._lock_segments(collection_id);
    PERFORM pgblend._drop_segments(collection_id);
    PERFORM pgblend._drop_pending(collection_id, NULL);
    PERFORM pgblend._rebuild_vocabulary(collection_id);
END;
$function$;

-- _seal_all_missing: _seal_missing of each language of a collection.
CREATE OR REPLACE FUNCTION pgblend._seal_all_missing(collection_id bigint)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN (
        SELECT coalesce(sum(pgblend._seal_missing(l.collection_id, l.text_search_config)), 0)
        FROM (
            SELECT DISTINCT c.collection_id, c.text_search_config
            FROM pgblend_data.collection_language AS c
            WHERE c.collection_id = _seal_all_missing.collection_id
        ) AS l);
END;
$function$;

-- _seal_collection: seal all pending chunks of a collection; returns how many, 0 where somebody
-- else seals.
-- With at_least, nothing is done while fewer chunks are pending and fewer deleted ones noted.
CREATE OR REPLACE FUNCTION pgblend._seal_collection(collection_id bigint, at_least integer)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    sealed bigint := 0;
    batch integer;
    config_name text;
BEGIN
    IF greatest(
        (SELECT count(*) FROM (
            SELECT FROM pgblend_data.pending AS p
            WHERE p.collection_id = _seal_collection.collection_id
            LIMIT at_least) AS waiting),
        (SELECT count(*) FROM (
            SELECT FROM pgblend_data.tombstone AS t
            WHERE t.collection_id = _seal_collection.collection_id
            LIMIT at_least) AS deleted)
    ) < at_least OR NOT pgblend._claim_index(collection_id) THEN
        RETURN 0;
    END IF;
    FOR config_name IN
        SELECT DISTINCT l.text_search_config FROM pgblend_data.collection_language AS l
        WHERE l.collection_id = _seal_collection.collection_id
        ORDER BY l.text_search_config
    LOOP
        LOOP
            batch := pgblend._seal_batch(collection_id, config_name);
            sealed := sealed + batch;
            EXIT WHEN batch < 20000;
        END LOOP;
    END LOOP;
    RETURN sealed;
END;
$function$;

-- _seal_batch: move a batch of pending chunks of one language into a segment; returns how many.
-- Small segments and those with many dead rows are merged into the new one; tombstones go to the
-- dead lists of the others. All in the caller's transaction: readers see either the old state or
-- the new. The caller holds the collection's seal lock.
-- Runs with its owner's rights, for a transaction that holds the collection's claim; else 42501.
CREATE OR REPLACE FUNCTION pgblend._seal_batch(collection_id bigint, config_name text)
RETURNS integer
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
STRICT
SECURITY DEFINER
AS $python$
import numpy as np
from pgblend.plpy.lexical.pending import pack_waiting, unpack_pending
from pgblend.plpy.lexical.chunk_rows import find_rows
from pgblend.plpy.lexical.segment import (
    add_postings, choose_merge, merge_postings, unpack_segment, write_segment)

# Chunks that another transaction is deleting are left to it. Rows are deleted by where they lie
# (nothing updates them): a join would be planned by statistics that an ingest has outrun.
TAKE_PENDING = """
    WITH taken AS (
        DELETE FROM pgblend_data.pending AS p
        WHERE p.ctid = ANY(ARRAY(
            SELECT w.ctid
            FROM pgblend_data.pending AS w
            WHERE w.collection_id = $1 AND w.text_search_config = $2
                AND w.records IS NOT NULL
            ORDER BY w.chunk_id
            LIMIT 20000
            FOR UPDATE SKIP LOCKED
        ))
        RETURNING p.*
    )
    SELECT
        string_agg(int8send(t.chunk_id), '' ORDER BY t.chunk_id) AS chunk_ids,
        string_agg(int8send(t.document_id), '' ORDER BY t.chunk_id) AS document_ids,
        string_agg(int4send(t.chunk_index), '' ORDER BY t.chunk_id) AS chunk_indexes,
        string_agg(int4send(t.length), '' ORDER BY t.chunk_id) AS lengths,
        string_agg(int4send(t.own_length), '' ORDER BY t.chunk_id) AS own_lengths,
        string_agg(int4send(octet_length(t.records) / 14), '' ORDER BY t.chunk_id) AS record_counts,
        string_agg(t.records, '' ORDER BY t.chunk_id) AS records
    FROM taken AS t"""
TAKE_TOMBSTONES = """
    WITH taken AS (
        DELETE FROM pgblend_data.tombstone AS t
        WHERE t.collection_id = $1 AND t.text_search_config = $2
        RETURNING t.chunk_id
    )
    SELECT string_agg(int8send(t.chunk_id), '' ORDER BY t.chunk_id) AS ids
    FROM taken AS t"""


def stored(segment_id):
    return unpack_segment(
        db.run("SELECT * FROM pgblend_data.segment WHERE id = $1", ["bigint"], segment_id)[0])

def with_postings(segment_id):
    rows = db.run(
        "SELECT data FROM pgblend_data.posting WHERE segment_id = $1 ORDER BY block",
        ["bigint"], segment_id)
    return add_postings(stored(segment_id), [row["data"] for row in rows])

db.run("SELECT pgblend._check_index_claim($1)", ["bigint"], collection_id)
scope = (["bigint", "text"], collection_id, config_name)
pack_waiting(db, collection_id, config_name)
pending = unpack_pending(db.run(TAKE_PENDING, *scope)[0])
tombstones = db.run(TAKE_TOMBSTONES, *scope)[0]["ids"]
segments = db.run(
    "SELECT id, n, n - octet_length(dead) / 4 AS live FROM pgblend_data.segment"
    " WHERE collection_id = $1 AND text_search_config = $2 ORDER BY id", *scope)
ids = [segment["id"] for segment in segments]
live = [segment["live"] for segment in segments]
if tombstones:
    buried = np.frombuffer(tombstones, ">i8")
    for place, segment in enumerate(map(stored, ids)):
        found = find_rows(segment.rows.chunk_ids, buried)
        if len(found):
            segment.alive[found] = False
            dead = np.flatnonzero(~segment.alive).astype("<i4")
            live[place] = len(segment.alive) - len(dead)
            db.run("UPDATE pgblend_data.segment SET dead = $2 WHERE id = $1", ["bigint", "bytea"],
                ids[place], dead.tobytes())

new_rows = 0 if pending is None else len(pending.rows)
chosen = choose_merge([segment["n"] for segment in segments], live, new_rows)
sources = [with_postings(ids[place]) for place in chosen]
sources += [] if pending is None else [pending]
if not sources:
    return 0
merged = merge_postings(sources)
old_ids = [ids[place] for place in chosen]
db.run("DELETE FROM pgblend_data.posting WHERE segment_id = ANY($1)", ["bigint[]"], old_ids)
db.run("DELETE FROM pgblend_data.segment WHERE id = ANY($1)", ["bigint[]"], old_ids)
if len(merged.rows):
    write_segment(db, collection_id, config_name, merged)
return new_rows
$python$;

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

-- _rebuild_vocabulary: make a collection's vocabulary anew from the chunks' tsvectors, without
-- words that no chunk has any more. Names of documents stay out: nothing is similar to them.
-- Left as it is while somebody adds chunks: a word too many is only looked at in vain.
-- Runs with its owner's rights, for a transaction that holds the collection's claim; else 42501.
CREATE OR REPLACE FUNCTION pgblend._rebuild_vocabulary(collection_id bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    PERFORM pgblend._check_index_claim(collection_id);
    PERFORM FROM pgblend_data.vocabulary_lock AS k
    WHERE k.collection_id = _rebuild_vocabulary.collection_id
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    DELETE FROM pgblend_data.vocabulary AS v
    WHERE v.collection_id = _rebuild_vocabulary.collection_id;
    INSERT INTO pgblend_data.vocabulary (collection_id, text_search_config, lexeme)
    SELECT DISTINCT c.collection_id, c.text_search_config, l.lexeme
    FROM pgblend_data.chunk AS c
    CROSS JOIN LATERAL unnest(c.lexemes) AS l
    WHERE c.collection_id = _rebuild_vocabulary.collection_id AND l.lexeme NOT LIKE '==%';
END;
$function$;
