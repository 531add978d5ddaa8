-- _program: the program of the backend, the sources of plpy/ as one text; a session loads it once.
-- Every PL/Python body has the sha256 of this text and refuses another one. So only a superuser,
-- who alone may write PL/Python, can change what runs. A line of "#: " and a name begins each
-- module.
CREATE OR REPLACE FUNCTION pgblend._program()
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
SELECT $program$#program$program$::text
$function$;
