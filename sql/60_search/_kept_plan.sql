-- _kept_plan: the plan of a search (_search_plan) that the session has made before; NULL where not.
-- A plan follows from its arguments, the first six; making it takes .4 ms, finding it .05. So a
-- session keeps fifty, for searches with the same options. `made`, where given, is kept for the
-- role in force alone, since it is the caller's word, and returned. Not kept are plans of long
-- options, which seldom come again, and of options that name a text search configuration, which
-- may be dropped.
CREATE OR REPLACE FUNCTION pgblend._kept_plan(
    options jsonb,
    of_database jsonb,
    of_profile jsonb,
    of_collection jsonb,
    only_arm text,
    traced text,
    made jsonb DEFAULT NULL
)
RETURNS jsonb
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $python$
from pgblend.plpy.session import keep_value, prepared_statements

MOST_PLANS, MOST_CHARACTERS = 50, 4000

plans = SD.setdefault("plans", {})
run = prepared_statements(plpy.prepare, SD.setdefault("statements", {}))
role = run("SELECT current_user::text AS role", [])[0]["role"]
asked = (role, options, of_database, of_profile, of_collection, only_arm, traced)
given = options or ""
if made is not None and len(given) <= MOST_CHARACTERS and '"language"' not in given:
    keep_value(plans, asked, made, MOST_PLANS)
return plans.get(asked, made)
$python$;
