-- last_search: what the last search of this transaction did, by the role that asks.
-- {"mode", "meta": {"mode", "expanded", "reranked", "vectorsUsed"}, "arm", "rows", "candidates",
-- "excluded" (words and phrases that no row has),
-- "degraded": [text], "not_run", "search_id", "ms"}, also where the search gave no rows, whose
-- `degraded` nobody sees. meta says what took part. arm is lexical, vector, fuzzy or graph where
-- one was searched alone; candidates is null where it has none to count. NULL where this
-- transaction has not searched, or as another role, or only within what was rolled back.
CREATE OR REPLACE FUNCTION blend.last_search()
RETURNS jsonb
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
asked = db.run(
    "SELECT current_setting('pgblend.last_search', true) AS name, current_user::text AS role", [])[0]
name, role, report = GD.get("pgblend_last_search", (None, None, None))
return report if (asked["name"], asked["role"]) == (name, role) else None
$python$;
