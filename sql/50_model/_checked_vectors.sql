-- _checked_vectors: the vectors of `count` texts in a gateway's answer, or what is wrong with it.
-- {"vectors": [one of numbers each]} or {"problem": text, "hint": text}. With a space they have its
-- size, without one all the same; NULL or a row of NULLs means none.
CREATE OR REPLACE FUNCTION pgblend._checked_vectors(
    answer jsonb,
    count integer,
    space pgblend_data.embedding_space
)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.models.embedding import checked_vectors

vectors = checked_vectors(json.loads(answer), count, space)
return json.dumps(vectors if isinstance(vectors, dict) else {"vectors": vectors})
$python$;
