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
    RETURN QUERY SELECT m.* FROM pgblend._mmr_select(
        coalesce(scores, '{}'),
        coalesce(embeddings::text[], array_fill(NULL::text, ARRAY[n])),
        lambda, pool, result_limit) AS m;
END;
$function$;
