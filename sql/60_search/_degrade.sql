-- _degrade: note that a search goes on without a stage: a WARNING, and the text for `degraded`.
-- With the setting strict it is an error, with the SQLSTATE given. The hint says what to do; NULL
-- says nothing.
CREATE OR REPLACE FUNCTION pgblend._degrade(
    stage text,
    problem text,
    problem_code text,
    hint text,
    settings jsonb
)
RETURNS text[]
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.search.stages import go_on_without

strict = bool(json.loads(settings).get("strict"))
return [db.answer(go_on_without, stage, problem, hint, problem_code, strict)]
$python$;
