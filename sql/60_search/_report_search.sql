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
import json
from datetime import datetime, timezone
from pgblend.plpy.models.gateway import gateway_token
from pgblend.plpy.search.report import searched_facts, send_datagram

given = json.loads(report)
noted, search_id = GD.get("pgblend_searched", {}), str(given.get("search_id"))
if search_id in noted and noted[search_id].role == asking_role:
    facts = noted.pop(search_id)
    content = given | searched_facts(given, facts, log_queries)
    content |= {"role": asking_role, "at": datetime.now(timezone.utc).isoformat()}
    try:
        content["token"] = gateway_token(data_directory)
    except (OSError, ValueError):
        pass  # then the gateway does not take it; model calls say what is wrong
    send_datagram(address, json.dumps(content, ensure_ascii=False))
$python$;

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
