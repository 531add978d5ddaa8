-- _search_plan: the search settings in force for a call, and as "stages" which of expand and rerank
-- run, for those who ask the models themselves.
-- Errors are those of hybrid_search.
CREATE OR REPLACE FUNCTION pgblend._search_plan(options jsonb, profile text, collections text[])
RETURNS jsonb
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.search.plan import told_plan
from pgblend.plpy.search.plan import read_state

return db.answer(lambda db: told_plan(db, read_state(db, profile, collections), options))
$python$;
