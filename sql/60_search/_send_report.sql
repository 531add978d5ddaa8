-- _send_report: send a search's report, with the gateway's token, to an address: once for a search
-- that the session noted as it ran (_rank_passages) for the role that asks, else not at all.
-- Role, query, collections and times are those noted; what came after ranking takes at most the
-- time that has passed. query is, by `log_queries`, its text, its sha256 or null. It never waits
-- or fails, and whether anybody receives it is not known. `address` is host:port, with a number for
-- the host (or localhost), or unix:/path.
CREATE OR REPLACE FUNCTION pgblend._send_report(
    report jsonb,
    asking_role text,
    statement_ms double precision,
    log_queries text,
    address text,
    data_directory text
)
RETURNS void
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
STRICT
SET search_path = pg_catalog, pg_temp
AS $python$
import json
from datetime import datetime, timezone
from time import monotonic
from pgblend.plpy.models.gateway import gateway_token
from pgblend.plpy.search.log import searched_facts, send_datagram

given = json.loads(report)
noted, search_id = GD.get("pgblend_searched", {}), str(given.get("search_id"))
if noted.get(search_id, {}).get("role") == asking_role:
    facts = noted.pop(search_id)
    since_ms = (monotonic() - facts["ended"]) * 1000
    content = given | searched_facts(given, facts, since_ms, statement_ms, log_queries)
    content |= {"role": asking_role, "at": datetime.now(timezone.utc).isoformat()}
    try:
        content["token"] = gateway_token(data_directory)
    except (OSError, ValueError):
        pass  # then the gateway does not take it; model calls say what is wrong
    send_datagram(address, json.dumps(content, ensure_ascii=False))
$python$;
