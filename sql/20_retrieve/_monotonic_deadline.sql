-- _monotonic_deadline: the time on the session's monotonic clock when timeout_ms are over.
CREATE OR REPLACE FUNCTION pgblend._monotonic_deadline(timeout_ms integer)
RETURNS double precision
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
AS $python$
import time
return time.monotonic() + timeout_ms / 1000
$python$;

COMMENT ON FUNCTION pgblend._monotonic_deadline(integer) IS
'The time on the session''s monotonic clock, in seconds, when timeout_ms are over.';
