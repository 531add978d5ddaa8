-- _checked_scores: the scores of `count` texts in a reranker's answer, or what is wrong with it.
-- {"scores": [0 to 1 each]} or {"problem": text}.
CREATE OR REPLACE FUNCTION pgblend._checked_scores(answer jsonb, count integer)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.models.rerank import checked_scores

scores = checked_scores(json.loads(answer), count)
return json.dumps({"problem" if isinstance(scores, str) else "scores": scores})
$python$;
