-- _search_settings: every search setting in force for a call: call > collection > profile >
-- database > default.
-- A collection's settings count when it is the only one of collection_ids. A NULL profile is
-- default_profile. 22023 for wrong options and an unknown profile.
CREATE OR REPLACE FUNCTION pgblend._search_settings(
    options jsonb,
    profile text,
    collection_ids bigint[]
)
RETURNS jsonb
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.search.plan import told_settings
from pgblend.plpy.search.plan import read_state

return db.answer(
    lambda db: told_settings(db, read_state(db, profile, None, collection_ids or []), options))
$python$;
