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

-- mmr_select: maximal marginal relevance: the items in an order that avoids likeness.
-- Among the `pool` best items by score the next is always the one with the greatest objective; the
-- other items follow by score. The objective is lambda · score - (1 - lambda) · the largest cosine
-- to those before it. Arrays hold the items in any order, which breaks ties. A NULL vector, and
-- one of zeros, has similarity 0; NULL embeddings are all NULL. place is the item's place in the
-- arrays, rank its new one, similarity the largest cosine (NULL for the first and beyond the
-- pool). result_limit cuts (NULL: does not) and changes nothing else. Scores should lie in [0, 1],
-- as cosines do. NULL or empty scores give no rows; NULL or infinite scores, unequal lengths or
-- dimensions, and numbers out of range are errors. Method: plpy/search/choose.py. Source:
-- Carbonell and Goldstein 1998.
CREATE OR REPLACE FUNCTION blend.mmr_select(
    scores double precision[],
    embeddings vector[],
    lambda double precision DEFAULT 0.7,
    pool integer DEFAULT 50,
    result_limit integer DEFAULT NULL
)
RETURNS TABLE (
    place integer,
    rank integer,
    objective double precision,
    similarity double precision
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 50
AS $function$
DECLARE
    n integer := coalesce(cardinality(scores), 0);
    dimensions integer[];
BEGIN
    PERFORM pgblend._check_size('scores', cardinality(scores), 'items', 'array_items');
    IF lambda IS NULL OR NOT lambda BETWEEN 0 AND 1 THEN
        RAISE EXCEPTION 'lambda is %: expected a number from 0 to 1',
            coalesce(lambda::text, 'NULL')
            USING ERRCODE = '22023', HINT = '0.7 is usual; 1 looks at scores alone.';
    ELSIF pool IS NULL OR NOT pool BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'pool is %: expected a number from 1 to 1000',
            coalesce(pool::text, 'NULL')
            USING ERRCODE = '22023', HINT = '50 is usual.';
    ELSIF result_limit < 0 THEN
        RAISE EXCEPTION 'result_limit is %: expected a number from 0', result_limit
            USING ERRCODE = '22023', HINT = 'NULL is no limit.';
    ELSIF cardinality(embeddings) <> n THEN
        RAISE EXCEPTION 'there are % scores and % embeddings', n, cardinality(embeddings)
            USING ERRCODE = '22023', HINT = 'Aggregate both in the same order.';
    ELSIF EXISTS (
        SELECT FROM unnest(scores) AS s WHERE s IS NULL OR NOT s BETWEEN -1e100 AND 1e100
    ) THEN
        RAISE EXCEPTION 'a score is NULL, infinite or beyond 1e100: expected finite numbers'
            USING ERRCODE = '22023', HINT = 'Leave out items without a score.';
    END IF;
    SELECT array_agg(DISTINCT vector_dims(e)) INTO dimensions
    FROM unnest(embeddings) AS e WHERE e IS NOT NULL;
    IF cardinality(dimensions) > 1 THEN
        RAISE EXCEPTION 'embeddings have % dimensions: expected one number', dimensions
            USING ERRCODE = '22023', HINT = 'Take all from one embedding space.';
    END IF;
    -- Vectors of the pool alone become text, one by one: a cancel ends it between two.
    RETURN QUERY SELECT m.* FROM pgblend._mmr_select(
        coalesce(scores, '{}'),
        ARRAY(
            SELECT CASE WHEN r.standing <= pool THEN r.embedding::text END
            FROM (
                SELECT i.place, i.embedding,
                    row_number() OVER (ORDER BY i.score DESC, i.place) AS standing
                FROM unnest(scores, embeddings) WITH ORDINALITY AS i (score, embedding, place)
            ) AS r
            ORDER BY r.place),
        lambda, pool, result_limit) AS m;
END;
$function$;

-- _mmr_select: mmr_select of checked arguments, places from 1.
-- Held to the setting limits here, since its time grows with the square of the pool.
CREATE OR REPLACE FUNCTION pgblend._mmr_select(
    scores double precision[],
    embeddings text[],
    relevance double precision,
    pool integer,
    result_limit integer
)
RETURNS TABLE (
    place integer,
    rank integer,
    objective double precision,
    similarity double precision
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
ROWS 50
AS $python$
from pgblend.plpy.search.choose import mmr_select

db.run("SELECT pgblend._check_size('scores', $1, 'items', 'array_items')", ["bigint"], len(scores))
chosen = mmr_select(
    scores, embeddings, relevance, pool, result_limit, lambda: db.run("SELECT", []))
return [
    (index + 1, rank, objective, cosine)
    for rank, (index, objective, cosine) in enumerate(chosen, 1)
]
$python$;

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
from pgblend.plpy.search.choose import Repeatable, drop_duplicates, near_duplicates

longest = max(n, *(len(one or ()) for one in (content_hashes, document_ids, contents)))
db.run("SELECT pgblend._check_size('the longest array', $1, 'items', 'array_items')",
    ["bigint"], longest)
near = None if contents is None else near_duplicates(contents, similarity)
items = Repeatable(content_hashes, document_ids, start_offsets, end_offsets)
dropped = drop_duplicates(items, near, overlap, per_document, n)
return [
    (place, None, None, None) if row is None else (place, row[0] + 1, row[1], row[2])
    for place, row in enumerate(dropped, 1)
]
$python$;
