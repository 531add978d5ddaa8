-- last_search: what the last search of this transaction did, by the role that asks.
-- {"mode", "meta": {"mode", "expanded", "reranked", "vectorsUsed"}, "arm", "rows", "candidates",
-- "excluded" (words and phrases that no row has),
-- "degraded": [text], "not_run", "search_id", "ms"}, also where the search gave no rows, whose
-- `degraded` nobody sees. meta says what took part. arm is lexical, vector, fuzzy or graph where
-- one was searched alone; candidates is null where it has none to count. NULL where this
-- transaction has not searched, or as another role, or only within what was rolled back.
CREATE OR REPLACE FUNCTION blend.last_search()
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN pgblend._kept_report();
END;
$function$;

-- _kept_report: what the last search of this transaction and role left in the session.
CREATE OR REPLACE FUNCTION pgblend._kept_report()
RETURNS jsonb
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
import json

asked = db.run(
    "SELECT current_setting('pgblend.last_search', true) AS name, current_user::text AS role", [])[0]
name, role, report = GD.get("pgblend_last_search", (None, None, None))
return json.dumps(report) if (asked["name"], asked["role"]) == (name, role) else None
$python$;

-- _report_context: send the report of a search whose passages went into a context, with what the
-- context took of them.
-- `report` is what _search gives back, NULL where searches are not logged: then nothing is sent.
-- Traced or not, its purpose is search, where the session names none.
-- budget_used is in tokens; files_touched and dedup_ratio are those of the context.
CREATE OR REPLACE FUNCTION pgblend._report_context(report jsonb, stats jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF report IS NOT NULL THEN
        PERFORM pgblend._report_search(report || jsonb_build_object(
            'purpose', left(
                coalesce(nullif(current_setting('pgblend.purpose', true), ''), 'search'), 40),
            'trace', report -> 'trace' || jsonb_strip_nulls(jsonb_build_object(
                'budget_used', stats -> 'tokens',
                'files_touched', stats -> 'files',
                'dedup_ratio', stats -> 'duplication_ratio'))));
    END IF;
END;
$function$;

-- _report_search: send a search's report to the setting log_address, as the role that asks.
-- Runs with its owner's rights, to reach the gateway's token. Role, query, collections and times
-- are not the caller's word (_send_report). A search that did not run as this role, or was told of
-- before, is not sent.
CREATE OR REPLACE FUNCTION pgblend._report_search(report jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    PERFORM pgblend._send_report(
        report, pgblend._asking_role(), blend.get_setting('log_queries') #>> '{}',
        blend.get_setting('log_address') #>> '{}', current_setting('data_directory'));
END;
$function$;

-- _send_report: send a search's report, with the gateway's token, to an address. It sends once
-- what the session noted as it ran (_run_search) for the role that asks, else nothing.
-- Role, query, collections and times are those noted. query is, by `log_queries`, its text, its
-- sha256 or null. It never waits or fails, and whether anybody receives it is not known. `address`
-- is host:port, with a number for the host (or localhost), or unix:/path.
CREATE OR REPLACE FUNCTION pgblend._send_report(
    report jsonb,
    asking_role text,
    log_queries text,
    address text,
    data_directory text
)
RETURNS void
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
STRICT
AS $python$
from pgblend.plpy.models.gateway import gateway_token
from pgblend.plpy.search.datagram import send_report

try:
    token = gateway_token(data_directory)
except (OSError, ValueError):
    token = None  # then the gateway does not take it; model calls say what is wrong
db.answer(send_report, report, asking_role, log_queries, address, token)
$python$;

-- _note_search: keep what a search did for last_search, to the end of the transaction.
-- It began at started_at, in seconds since 1970; a server without PL/Python does not tell that.
CREATE OR REPLACE FUNCTION pgblend._note_search(report jsonb, started_at double precision)
RETURNS void
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
import json
import time
from uuid import uuid4
from pgblend.plpy.search.call import note_last

name = str(uuid4())
role = db.run(
    "SELECT current_user::text AS role, set_config('pgblend.last_search', $1, true)",
    ["text"], name)[0]["role"]
ms = (time.time() - started_at) * 1000
note_last(db, name, role, json.loads(report) | {"ms": ms})
$python$;

-- _milliseconds: the time from one moment to another, in milliseconds; NULL where one is NULL.
CREATE OR REPLACE FUNCTION pgblend._milliseconds(start_at timestamptz, end_at timestamptz)
RETURNS double precision
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN extract(EPOCH FROM end_at - start_at)::double precision * 1000;
