-- _send_datagram: send one JSON object, with the gateway's token, to an address.
-- It never waits or fails, and whether anybody receives it is not known. `address` is host:port,
-- with a number for the host (or localhost), or unix:/path.
CREATE OR REPLACE FUNCTION pgblend._send_datagram(
    address text,
    report jsonb,
    data_directory text
)
RETURNS void
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
STRICT
SET search_path = pg_catalog, pg_temp
AS $python$
#include plpy/gateway_token.py
#include plpy/send_datagram.py
import json
try:
    token = gateway_token(data_directory)
except (OSError, ValueError):
    token = None  # then the gateway does not take it; model calls say what is wrong
content = json.loads(report) | ({"token": token} if token else {})
send_datagram(address, json.dumps(content, ensure_ascii=False))
$python$;

COMMENT ON FUNCTION pgblend._send_datagram(text, jsonb, text) IS
'Send one JSON object, with the gateway''s token, to an address; never wait or fail.';
