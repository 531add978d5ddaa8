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
from pgblend.plpy.refine.diversity import mmr_select

if len(scores) > 100:
    plpy.execute(
        plpy.prepare(
            "SELECT pgblend._check_size('scores', $1, 'items', 'array_items')", ["bigint"]),
        [len(scores)])
chosen = mmr_select(scores, embeddings, relevance, pool, result_limit)
return [
    (index + 1, rank, objective, cosine)
    for rank, (index, objective, cosine) in enumerate(chosen, 1)
]
$python$;
