-- _rank_passages: places, scores, arms and snippets of one page: all arms, fused, cut to the page.
-- The order of all candidates depends on the settings alone, never on result_limit or offset. An
-- arm of weight 0 does not run, nor the vector arm without a query vector, nor the fuzzy arm by the
-- setting fuzzy (off, or auto with the words' arm not running). score is what fusion gave, divided
-- by what a passage first in every list would get; of a single list it is that arm's own: BM25 over
-- what no passage can reach, or (1 + cosine) / 2. With recency_half_life_days it is times what the
-- document's age leaves (recency in details). relevance is the exact cosine, NULL without a query
-- vector. details have copies: the other documents among the candidates with a row's very text,
-- where dedup leaves them out. `trace` says what each stage did: with `traced` page also how each
-- row of the page came to its place, with pool each candidate; with none it is NULL. Where words
-- count, phrases and exclusions bind the vectors too. With a weight of the setting graph, what the
-- graph leads to from the first of these is one more list, and details have source and depth. Ties
-- go by (document, chunk index).
CREATE OR REPLACE FUNCTION pgblend._rank_passages(
    query text,
    result_limit integer,
    query_embedding vector,
    space text,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb,
    started_at double precision,
    traced text,
    OUT chunk_ids bigint[],
    OUT ranks integer[],
    OUT scores double precision[],
    OUT relevances double precision[],
    OUT snippets text[],
    OUT arms jsonb,
    OUT details jsonb,
    OUT candidate_count integer,
    OUT degraded text[],
    OUT trace jsonb
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $python$
from pgblend.plpy.search.plan import Request
from pgblend.plpy.search.run import rank_passages
from pgblend.plpy.session import Backend

return rank_passages(Backend(plpy, GD), Request(
    query, result_limit, query_embedding, space, collection_ids, filter, settings, started_at,
    traced))
$python$;
