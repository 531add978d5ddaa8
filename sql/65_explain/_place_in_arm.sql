-- _place_in_arm: a document's best passage in an arm's whole list: rank and score; NULL where the
-- arm does not find it at any depth.
-- The arm itself is run, to the depth of all passages that there are, without a deadline of its
-- own, and vectors are compared exactly: what an approximate index misses is found here. Operators
-- bind the vectors where words count, as in a search.
CREATE OR REPLACE FUNCTION pgblend._place_in_arm(
    arm text,
    document_id bigint,
    query text,
    query_embedding vector,
    space text,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb,
    OUT rank bigint,
    OUT score double precision
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $python$
from pgblend.plpy.search.place import Asked, place_in_arm
from pgblend.plpy.session import Backend

asked = Asked(arm, document_id, query, query_embedding, space, collection_ids, filter, settings)
return Backend(plpy, GD).answer(place_in_arm, asked)
$python$;
