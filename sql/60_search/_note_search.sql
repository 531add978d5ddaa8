-- _note_search: keep what a search did for last_search, to the end of the transaction.
CREATE OR REPLACE FUNCTION pgblend._note_search(report jsonb)
RETURNS void
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
import json
from uuid import uuid4
from pgblend.plpy.search.report import note_last

name = str(uuid4())
role = db.run(
    "SELECT current_user::text AS role, set_config('pgblend.last_search', $1, true)",
    ["text"], name)[0]["role"]
note_last(db, name, role, json.loads(report))
$python$;
