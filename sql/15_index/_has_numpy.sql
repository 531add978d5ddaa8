-- _has_numpy: whether the server's Python has numpy; looked up once a session.
-- Without it nothing is sealed and searches score from tsvectors: slower, with the same result.
CREATE OR REPLACE FUNCTION pgblend._has_numpy()
RETURNS boolean
LANGUAGE plpython3u
STABLE PARALLEL SAFE
AS $python$
if "found" not in SD:
    try:
        import numpy
        SD["found"] = True
    except ImportError:
        SD["found"] = False
return SD["found"]
$python$;
