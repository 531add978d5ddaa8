-- _lexical_deadline: make the session ready for an arm that searches by words, then start the arm's
-- clock: returns when timeout_ms are over, or the whole search is, on the monotonic clock.
-- What a session does once counts against no limit: it compiles routines (_rehearse_arm, which says
-- what `routines` may be) and reads what is new of the index, kept under `reading`
-- (_lexical_statistics). Without numpy there is no index to read. PB009 where the whole search is
-- over.
CREATE OR REPLACE FUNCTION pgblend._lexical_deadline(
    collection_ids bigint[],
    timeout_ms integer,
    routines text,
    reading uuid
)
RETURNS double precision
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
SET search_path FROM CURRENT
AS $python$
from pgblend.plpy.lexical.deadline import arm_deadline
from pgblend.plpy.session import prepared_statements

handed = GD.get("pgblend_handed", {})
run = prepared_statements(plpy.prepare, SD.setdefault("plans", {}))
rehearsed = SD.setdefault("rehearsed", set())
if routines not in rehearsed:
    handed["warmed_up"] = True
    run("SELECT pgblend._rehearse_arm($1)", ["text"], routines)
    rehearsed.add(routines)
if run("SELECT pgblend._has_numpy() AS found", [])[0]["found"]:
    run(
        "SELECT FROM pgblend._lexical_statistics($1, '{}', 'infinity', $2)", ["bigint[]", "uuid"],
        collection_ids, reading)
return arm_deadline(timeout_ms, handed, plpy.error)
$python$;
