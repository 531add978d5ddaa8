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
from pgblend.plpy.lexical.pending import unpack_pending
from pgblend.plpy.lexical.rows import find_rows
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
