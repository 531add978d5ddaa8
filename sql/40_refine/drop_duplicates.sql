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
from pgblend.plpy.search.choose import drop_duplicates, near_duplicates

longest = max(n, *(len(one or ()) for one in (content_hashes, document_ids, contents)))
db.run("SELECT pgblend._check_size('the longest array', $1, 'items', 'array_items')",
    ["bigint"], longest)
near = None if contents is None else near_duplicates(contents, similarity)
dropped = drop_duplicates(
    content_hashes, document_ids, start_offsets, end_offsets, near, overlap, per_document, n)
return [
    (place, None, None, None) if row is None else (place, row[0] + 1, row[1], row[2])
    for place, row in enumerate(dropped, 1)
]
$python$;

-- drop_duplicates: which items of a ranked list repeat a better one: a row for each, by place.
-- Arrays hold the items best first; each that is given adds a check against the kept items before:
-- content_hashes: the same hash ('content'); document_ids with start_offsets and end_offsets: spans
-- of one document whose shared part is at least `overlap` of the shorter ('overlap'); contents:
-- texts whose Jaccard index, over their runs of three words, is at least `similarity` ('similar');
-- document_ids with per_document: more than that many of one document ('per_document').
-- duplicate_of is the place of the kept item, NULL where the item is kept; likeness the share or
-- index. A NULL item has no duplicate. NULL or empty arrays give no rows; unequal lengths and
-- numbers out of range are errors. Method: plpy/search/choose.py.
CREATE OR REPLACE FUNCTION blend.drop_duplicates(
    content_hashes text[] DEFAULT NULL,
    document_ids bigint[] DEFAULT NULL,
    start_offsets integer[] DEFAULT NULL,
    end_offsets integer[] DEFAULT NULL,
    contents text[] DEFAULT NULL,
    overlap double precision DEFAULT 0.5,
    similarity double precision DEFAULT 0.8,
    per_document integer DEFAULT NULL
)
RETURNS TABLE (
    place integer,
    duplicate_of integer,
    reason text,
    likeness double precision
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 100
AS $function$
DECLARE
    lengths integer[] := array_remove(ARRAY[
        cardinality(content_hashes), cardinality(document_ids), cardinality(start_offsets),
        cardinality(end_offsets), cardinality(contents)], NULL);
BEGIN
    PERFORM pgblend._check_size('the longest array', n, 'items', 'array_items')
    FROM (SELECT max(l) FROM unnest(lengths) AS l) AS longest (n);
    IF overlap IS NULL OR NOT (overlap > 0 AND overlap <= 1)
        OR similarity IS NULL OR NOT (similarity > 0 AND similarity <= 1)
    THEN
        RAISE EXCEPTION 'overlap is % and similarity %: expected numbers above 0, up to 1',
            coalesce(overlap::text, 'NULL'), coalesce(similarity::text, 'NULL')
            USING ERRCODE = '22023', HINT = 'A check without its array is not done.';
    ELSIF per_document < 1 THEN
        RAISE EXCEPTION 'per_document is %: expected a number from 1', per_document
            USING ERRCODE = '22023', HINT = 'NULL is no cap.';
    ELSIF lengths[1] <> ANY(lengths) THEN
        RAISE EXCEPTION 'the arrays have % items: expected one number', lengths
            USING ERRCODE = '22023', HINT = 'Aggregate all in the same order.';
    ELSIF document_ids IS NULL AND (per_document IS NOT NULL OR start_offsets IS NOT NULL) THEN
        RAISE EXCEPTION 'document_ids is NULL: per_document and offsets need it'
            USING ERRCODE = '22023', HINT = 'array_agg(document_id ORDER BY rank)';
    ELSIF (start_offsets IS NULL) <> (end_offsets IS NULL) THEN
        RAISE EXCEPTION 'one of start_offsets and end_offsets is NULL: expected both or none'
            USING ERRCODE = '22023', HINT = 'Spans begin at the one and end before the other.';
    ELSIF cardinality(lengths) = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT d.* FROM pgblend._drop_duplicates(
        content_hashes, document_ids, start_offsets, end_offsets, contents, overlap, similarity,
        per_document, lengths[1]) AS d;
END;
$function$;
