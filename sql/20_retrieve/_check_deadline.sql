-- _check_deadline: raise PB009 once a time on the session's monotonic clock is over.
CREATE OR REPLACE FUNCTION pgblend._check_deadline(deadline double precision)
RETURNS void
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
SET search_path FROM CURRENT
AS $python$
from pgblend.plpy.lexical.deadline import deadline_check

deadline_check(deadline, plpy.error)()
$python$;
