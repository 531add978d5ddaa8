-- _note_search: keep what a search did for last_search, to the end of the transaction.
-- The session keeps it under a name that a parameter has until the transaction, or the savepoint,
-- is over: so nobody finds it later.
CREATE OR REPLACE FUNCTION pgblend._note_search(report jsonb)
RETURNS void
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $python$
from uuid import uuid4
from pgblend.plpy.session import prepared_statements

run = prepared_statements(plpy.prepare, SD.setdefault("statements", {}))
name = str(uuid4())
role = run(
    "SELECT current_user::text AS role, set_config('pgblend.last_search', $1, true)",
    ["text"], name)[0]["role"]
GD["pgblend_last_search"] = (name, role, report)
$python$;
