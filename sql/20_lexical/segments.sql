-- lexical_rebuild: make the lexical index of a collection anew from the chunks' tsvectors; returns
-- how many chunks it holds.
-- Readers see the old index until the transaction commits. 55P03 where another session seals. 0
-- without numpy (a NOTICE says so). NULL where it failed: lexical_status() says why, and the old
-- index goes on serving.
CREATE OR REPLACE FUNCTION blend.lexical_rebuild(collection text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target record := pgblend._writable_collection(collection);
BEGIN
    IF NOT pgblend._check_can_index() THEN
        RETURN 0;
    END IF;
    -- NULL, that it failed, is the result where it failed for one.
    RETURN (
        SELECT CASE WHEN count(r.chunks) = count(*) THEN sum(r.chunks) END::bigint
        FROM unnest(pgblend._compartments(target.id)) AS c (id)
        CROSS JOIN LATERAL pgblend._index_collection(c.id, 'rebuild', 1) AS r (chunks));
END;
$function$;

-- _load_segments: put saved segments in place of those that a collection has; returns how many
-- chunks they hold.
-- Reads the temporary tables lexical_segment_stage, lexical_posting_stage and lexical_chunk_stage
-- (chunk_id, digest), which the client filled by COPY from a file. Chunks are immutable and their
-- ids are never used again. So a saved row is right where its chunk has the same lexemes, and is
-- left out where there is none any more. Another collection's file, or another database's, is an
-- error.
-- Chunks that the file does not have are sealed from their tsvectors. Readers see the old segments
-- until the transaction commits.
CREATE OR REPLACE FUNCTION pgblend._load_segments(collection text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection := pgblend._writable_collection(collection);
    loaded bigint := pgblend._replace_segments(target.id, target.name);
BEGIN
    PERFORM pgblend._seal_collection(target.id, 1);
    DELETE FROM pgblend_data.lexical_failure AS f WHERE f.collection_id = target.id;
    RETURN loaded;
END;
$function$;

-- _replace_segments: put the staged segments in place of a collection's, and make those of what
-- they lack; returns how many chunks they have.
CREATE OR REPLACE FUNCTION pgblend._replace_segments(target_id bigint, name text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
STRICT
AS $function$
DECLARE
    alive bigint[] := pgblend._begin_loading(target_id, name);
BEGIN
    RETURN pgblend._load_staged(target_id, alive) + pgblend._seal_all_missing(target_id);
END;
$function$;

-- _begin_loading: drop a collection's segments for those that are staged; returns the chunks that
-- these are to hold.
-- Chunks of which saved segments are not (_load_segments) are an error.
CREATE OR REPLACE FUNCTION pgblend._begin_loading(target_id bigint, name text)
RETURNS bigint[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    staged record;
BEGIN
    IF NOT pgblend._check_can_index() THEN
        RAISE EXCEPTION 'segments cannot be loaded without numpy in the server''s Python'
            USING ERRCODE = '0A000', HINT = 'Install it there (Debian: python3-numpy).';
    END IF;
    PERFORM pgblend._lock_segments(target_id);
    -- A pending row that another session is deleting stays, and its chunk is left out below.
    PERFORM pgblend._drop_pending(
        target_id, ARRAY(SELECT s.chunk_id FROM pg_temp.lexical_chunk_stage AS s));
    -- One snapshot says which chunks there are; what is deleted after it leaves a tombstone.
    SELECT
        count(*) AS saved,
        count(c.id) AS known,
        count(c.id) FILTER (WHERE c.collection_id <> target_id
            OR s.digest <> decode(md5(concat_ws(' ', c.text_search_config, c.lexemes)), 'hex'))
            AS foreign_rows,
        coalesce(array_agg(s.chunk_id) FILTER (WHERE c.id IS NOT NULL AND NOT EXISTS (
            SELECT FROM pgblend_data.pending AS p WHERE p.chunk_id = s.chunk_id)), '{}') AS alive
    INTO staged
    FROM pg_temp.lexical_chunk_stage AS s
    LEFT JOIN pgblend_data.chunk AS c ON c.id = s.chunk_id;
    IF staged.foreign_rows > 0 OR staged.known = 0 AND staged.saved > 0 THEN
        RAISE EXCEPTION 'the saved segments are not of collection "%" as it is here: % of % chunks '
            'differ', name, greatest(staged.foreign_rows, staged.saved - staged.known),
            staged.saved
            USING ERRCODE = '22023', HINT = 'Make the index anew: lexical_rebuild.';
    END IF;
    PERFORM pgblend._drop_segments(target_id);
    RETURN staged.alive;
END;
$function$;

-- _load_staged: write the staged segments, with the chunks that they are to hold; returns how many.
CREATE OR REPLACE FUNCTION pgblend._load_staged(target_id bigint, alive bigint[])
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    loaded bigint;
BEGIN
    SELECT coalesce(sum(pgblend._load_segment(
        target_id,
        row(s.id, target_id, s.text_search_config, s.n, s.total_length, s.chunk_ids,
            s.document_ids, s.chunk_indexes, s.lengths, s.own_lengths, s.code_book, s.terms,
            s.document_frequencies, s.dead, NULL, 0, s.signature, NULL
        )::pgblend_data.segment,
        ARRAY(
            SELECT p.data FROM pg_temp.lexical_posting_stage AS p
            WHERE p.segment_id = s.id
            ORDER BY p.block),
        alive)), 0)
    INTO loaded
    FROM pg_temp.lexical_segment_stage AS s;
    IF loaded <> cardinality(alive) THEN
        RAISE EXCEPTION 'the saved segments hold % chunks where % are to be', loaded,
            cardinality(alive)
            USING ERRCODE = '22023', HINT = 'Save them again, or make them anew: lexical_rebuild.';
    END IF;
    RETURN loaded;
END;
$function$;

-- _drop_pending: take chunks of a collection off pending, NULL: all; the caller brings them into a
-- segment by another way.
-- Those that another transaction is deleting stay, and those whose words are not settled yet.
-- Runs with its owner's rights, for a transaction that holds the collection's claim; else 42501.
CREATE OR REPLACE FUNCTION pgblend._drop_pending(collection_id bigint, chunk_ids bigint[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    PERFORM pgblend._check_index_claim(collection_id);
    DELETE FROM pgblend_data.pending AS p
    WHERE p.ctid = ANY(ARRAY(
        SELECT w.ctid FROM pgblend_data.pending AS w
        WHERE w.collection_id = _drop_pending.collection_id
            AND (chunk_ids IS NULL OR w.chunk_id IN (SELECT n FROM unnest(chunk_ids) AS n))
            AND NOT EXISTS (
                SELECT FROM pgblend_data.unsettled AS u WHERE u.document_id = w.document_id)
        FOR UPDATE SKIP LOCKED));
END;
$function$;

-- _drop_segments: delete a collection's segments; its chunks are then missing from the index.
-- Tombstones stay: those of chunks in no segment do nothing, and the next seal takes them.
-- Runs with its owner's rights, for a transaction that holds the collection's claim; else 42501.
CREATE OR REPLACE FUNCTION pgblend._drop_segments(collection_id bigint)
RETURNS void
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
BEGIN ATOMIC
    SELECT pgblend._check_index_claim(_drop_segments.collection_id);

    WITH dropped AS (
        DELETE FROM pgblend_data.segment AS s
        WHERE s.collection_id = _drop_segments.collection_id
        RETURNING s.id
    )

    DELETE FROM pgblend_data.posting AS p
    USING dropped AS d
    WHERE p.segment_id = d.id;
END;

-- _load_segment: write a segment that was saved, without the chunks that are not to be in it;
-- returns how many chunks it holds.
-- The arrays are those of table segment, `blocks` those of its postings in order. `alive` are the
-- chunks to keep. 22023 where this database did not write them for the collection (signature): who
-- may load them could otherwise have a passage found by any word.
-- Chunks that are gone, pending or in a segment already are left out.
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
AS $python$
import numpy as np
from pgblend.plpy.lexical.segment import (
    add_postings, merge_postings, unpack_segment, write_segment)
from pgblend.plpy.lexical.segment import check_signature

THERE = """
    SELECT c.id, c.document_id FROM pgblend_data.chunk AS c
    WHERE c.collection_id = $1 AND c.id = ANY($2)
        AND NOT EXISTS (SELECT FROM pgblend_data.pending AS p WHERE p.chunk_id = c.id)"""
SEALED = "SELECT s.chunk_ids FROM pgblend_data.segment AS s WHERE s.collection_id = $1"

db.run("SELECT pgblend._check_index_claim($1)", ["bigint"], collection_id)
try:
    check_signature(db, collection_id, saved, blocks or [])
    segment = unpack_segment(saved)
    ids = segment.rows.chunk_ids
    segment.alive &= np.isin(ids, alive)
    for other in plpy.cursor(plpy.prepare(SEALED, ["bigint"]), [collection_id]):
        sealed = np.frombuffer(other["chunk_ids"], "<i8")
        if sealed[0] <= ids[-1] and ids[0] <= sealed[-1]:
            segment.alive &= ~np.isin(ids, sealed)
    found = db.run(THERE, ["bigint", "bigint[]"], collection_id, ids[segment.alive].tolist())
    document_of = {row["id"]: row["document_id"] for row in found}
    segment.alive &= np.array([
        document_of.get(chunk_id) == document_id
        for chunk_id, document_id in zip(ids.tolist(), segment.rows.document_ids.tolist())
    ])
    merged = merge_postings([add_postings(segment, blocks or [])])
except ValueError as error:
    plpy.error(
        f"a saved segment is damaged or of another database: {error}", sqlstate="22023",
        hint="Make the index anew (lexical_rebuild), or restore index_secret with the passages.")
if len(merged.rows):
    write_segment(db, collection_id, saved["text_search_config"], merged)
return len(merged.rows)
$python$;
