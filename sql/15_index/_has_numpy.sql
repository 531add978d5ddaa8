-- _has_numpy: whether the server's Python has numpy; looked up once a session.
-- Without it chunks wait unsealed, and there is no lexical search.
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
