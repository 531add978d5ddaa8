-- _compile_program: replace _program_code by what the server's Python makes of the program.
-- For the routines' owner, after an upgrade, or where the server has another Python than before.
CREATE OR REPLACE FUNCTION pgblend._compile_program()
RETURNS void
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $python$
from _frozen_importlib_external import MAGIC_NUMBER
from base64 import b64encode
from pgblend.plpy.base.program import compiled

found = plpy.execute(
    "SELECT p AS program, sha256(convert_to(p, 'UTF8')) AS digest FROM pgblend._program() AS p")[0]
code = compiled(found["program"])
checksum = db.run("SELECT sha256($1) AS checksum", ["bytea"], code)[0]["checksum"]
kept = b64encode(MAGIC_NUMBER + found["digest"] + checksum + code).decode()
plpy.execute(
    "CREATE OR REPLACE FUNCTION pgblend._program_code() RETURNS bytea LANGUAGE sql"
    " IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $function$\n"
    f"SELECT decode('{kept}', 'base64')\n$function$")
$python$;

-- _load_program: load the program with this sha256 into the session, for a body that wants it;
-- returns whether compiled code was taken.
-- PB012 where pgblend was upgraded since the caller's body was read, or where the text is not the
-- one that the routines were made with. So only a superuser, who alone may write PL/Python, can
-- change what runs. Compiled code (_program_code) is taken where it is a superuser's, whole, of
-- this very text and of this Python; else the text.
CREATE OR REPLACE FUNCTION pgblend._load_program(digest text DEFAULT '#digest')
RETURNS boolean
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
STRICT
SET search_path = pg_catalog, pg_temp
AS $python$
import marshal
import zlib
from _frozen_importlib_external import MAGIC_NUMBER

DIGEST = "#digest"
# The function's text is read: to call it takes ten milliseconds of parsing.
COMPILED = (
    "SELECT c.code, sha256(substr(c.code, 69)) AS checksum FROM ("
    " SELECT decode(split_part(p.prosrc, chr(39), 2), 'base64') AS code"
    " FROM pg_proc AS p INNER JOIN pg_roles AS r ON r.oid = p.proowner"
    " WHERE p.oid = 'pgblend._program_code()'::regprocedure AND r.rolsuper OFFSET 0) AS c")
TEXT = (
    "SELECT p AS program, encode(sha256(convert_to(p, 'UTF8')), 'hex') AS digest"
    " FROM pgblend._program() AS p")

if digest != DIGEST:
    plpy.error(
        "pgblend was upgraded while this call began", sqlstate="PB012", hint="Call it again.")
modules, found = None, []
try:
    found = plpy.execute(COMPILED)
except plpy.spiexceptions.InvalidParameterValue:
    pass  # it is not what _compile_program writes
for row in found:
    if row["code"] and row["code"][:68] == MAGIC_NUMBER + bytes.fromhex(DIGEST) + row["checksum"]:
        modules = marshal.loads(row["code"][68:])
is_compiled = modules is not None
if not is_compiled:
    found = plpy.execute(TEXT)[0]
    if found["digest"] != DIGEST:
        plpy.error(
            "the text of pgblend's program is not the one that its routines were made with",
            sqlstate="PB012", hint="Put it back: pgblend migrate up, as a superuser.")
    parts = ("\n" + found["program"]).split("\n#: ")[1:]
    modules = dict(part.partition("\n")[::2] for part in parts)
importer = modules["pgblend.plpy.base.program"]
scope = {"__name__": "pgblend.plpy.base.program"}
exec(marshal.loads(zlib.decompress(importer)) if is_compiled else importer, scope)
scope["Program"](modules).install()
GD["pgblend_program"] = DIGEST
return is_compiled
$python$;

-- _is_answered: whether the program answers what this statement calls.
-- Where the program runs outside (sql/outside.py) it answers those who have the rights of the
-- owner, come by a door, and do not run within another role's routine: what is told can be forged,
-- and is stored here. Others write by plain SQL, and leave the rest to pgblend worker.
CREATE OR REPLACE FUNCTION pgblend._is_answered()
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    told regproc := to_regproc('pgblend._told');
    caller text := CASE current_setting('role') WHEN 'none' THEN session_user::text
        ELSE current_setting('role') END;
    callers text;
BEGIN
    IF told IS NULL THEN
        RETURN true;
    ELSIF current_setting('pgblend.answers', true) IS DISTINCT FROM 'on'
        OR current_user <> caller
        OR NOT pg_has_role((SELECT p.proowner FROM pg_proc AS p WHERE p.oid = told), 'USAGE')
    THEN
        RETURN false;
    END IF;
    GET DIAGNOSTICS callers = PG_CONTEXT;
    -- A write to an attached table names nothing by which a door would take it back.
    RETURN callers !~ '[.]_(table_changed|row_changed|table_truncated)[(]';
END;
$function$;

-- _program_code: the program compiled by the server's Python; NULL until _compile_program made it.
-- First come the number of that Python's byte code (4 bytes) and the sha256 of the text and of
-- what follows (32 each). Then comes each module's marshalled code by its name, marshalled. All of
-- it is the body's one constant, in base64, as which _load_program reads it.
CREATE OR REPLACE FUNCTION pgblend._program_code()
RETURNS bytea
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
SELECT NULL::bytea
$function$;

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
