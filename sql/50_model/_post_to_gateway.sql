-- _post_to_gateway: POST a JSON text to the gateway; {"answer": …} or {"problem": text, "hint":
-- text}.
-- The token comes from the server's environment (PGBLEND_GATEWAY_TOKEN) or from the file
-- pgblend_gateway_token in the data directory (mode 0600). Ends within timeout_ms, and within 20 ms
-- of a cancel, statement_timeout or terminate. Problems are returned, since an error raised here
-- would be prefixed with "plpy.Error".
CREATE OR REPLACE FUNCTION pgblend._post_to_gateway(
    url text,
    path text,
    body text,
    timeout_ms integer,
    data_directory text
)
RETURNS jsonb
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
STRICT
COST 100000
SET search_path = pg_catalog, pg_temp
AS $python$
#include plpy/gateway_answer.py
#include plpy/gateway_token.py
#include plpy/post_json.py
import json

if "check_interrupts" not in SD:
    SD["check_interrupts"] = plpy.prepare("SELECT").execute
    SD["connections"] = {}

def exchange():
    token = gateway_token(data_directory)
    return post_json(
        url, path, body, token, timeout_ms, SD["connections"], SD["check_interrupts"])

return json.dumps(gateway_answer(url, timeout_ms, exchange))
$python$;

COMMENT ON FUNCTION pgblend._post_to_gateway(text, text, text, integer, text) IS
'POST a JSON text to the gateway; {"answer": …} or {"problem": text, "hint": text}. Ends within '
'timeout_ms and soon after a cancel.';
