-- _diagnosis: stages, verdict and suggestion for the facts about a document's way through a search.
-- {"stages": [{"stage", "passed", "finding", "details"}], "lost_at", "verdict", "suggestion"};
-- stages end where the document is lost; lost_at and suggestion are null for one on the page.
CREATE OR REPLACE FUNCTION pgblend._diagnosis(facts jsonb)
RETURNS jsonb
LANGUAGE plpython3u
IMMUTABLE PARALLEL UNSAFE
STRICT
AS $python$
import json
from pgblend.plpy.explain.candidates import diagnose_arms
from pgblend.plpy.explain.candidates import diagnose_conditions
from pgblend.plpy.explain.places import diagnose_places

known = json.loads(facts)
stages = []
for diagnose in (diagnose_conditions, diagnose_arms, diagnose_places):
    findings, verdict, suggestion = diagnose(known)
    stages += findings
    if verdict is not None:
        break
return json.dumps({
    "stages": stages,
    "lost_at": None if stages[-1]["passed"] else stages[-1]["stage"],
    "verdict": verdict,
    "suggestion": suggestion,
})
$python$;
