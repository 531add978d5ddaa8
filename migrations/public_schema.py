"""The schema `blend`: what people call and look at. `pgblend` keeps what is private.

Public is what has no leading underscore. Objects are moved, not made anew, so what users built on
them (views, defaults, grants) stays.
"""

from sqlalchemy import Connection, text

from pgblend.cli.errors import UserError
from pgblend.migrations.replace_routines import created_names, execute_script

PUBLIC = "blend"
PRIVATE = "pgblend"
TYPES = ["search_result"]  # of public signatures

_OWNER = text("SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = :schema")
# Whoever made it first could have made functions of our names in it as well: the owner decides.
_IS_OURS = text(
    "SELECT to_regproc('blend.hybrid_search') IS NOT NULL AND EXISTS ("
    "SELECT FROM pg_namespace AS b INNER JOIN pg_namespace AS p ON p.nspowner = b.nspowner"
    " WHERE b.nspname = 'blend' AND p.nspname = 'pgblend')"
)
_CREATE = """
CREATE SCHEMA blend AUTHORIZATION {owner};
COMMENT ON SCHEMA blend IS 'pgblend: the functions to call and the views to look at.';
COMMENT ON SCHEMA pgblend_data IS 'pgblend: tables. Query them through the schema blend.';
COMMENT ON TABLE pgblend_data.setting IS
'Settings that differ from their defaults; names, types and defaults: blend.setting_catalog().';
"""
_DROP = """
DROP SCHEMA blend;
COMMENT ON SCHEMA pgblend_data IS 'pgblend: tables. Query them through the schema pgblend.';
COMMENT ON TABLE pgblend_data.setting IS
'Settings that differ from their defaults; names, types and defaults: pgblend.setting_catalog().';
"""
# Whoever may look into one schema may look into the other. CREATE is the owner's alone.
_USAGE = text("""
SELECT string_agg(format(
    'GRANT USAGE ON SCHEMA %I TO %s%s;', CAST(:target AS text),
    CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END,
    CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END), '')
FROM pg_namespace AS n
CROSS JOIN LATERAL aclexplode(n.nspacl) AS a
WHERE n.nspname = :source AND a.privilege_type = 'USAGE' AND a.grantee <> n.nspowner
""")
_MOVE = text("""
SELECT string_agg(format('ALTER %s SET SCHEMA %I;', o.object, CAST(:target AS text)), '')
FROM (
    SELECT 'ROUTINE ' || p.oid::regprocedure FROM pg_proc AS p
    WHERE p.pronamespace = to_regnamespace(:source) AND p.proname = ANY (:routines)
    UNION ALL
    SELECT CASE c.relkind WHEN 'v' THEN 'VIEW ' ELSE 'TYPE ' END || c.oid::regclass
    FROM pg_class AS c
    WHERE c.relnamespace = to_regnamespace(:source)
        AND (c.relkind = 'v' AND c.relname = ANY (:views)
            OR c.relkind = 'c' AND c.relname = ANY (:types))
) AS o (object)
""")
# The text of a routine does not follow what it names; 'schema.name' in quotes is a parameter.
_WARN = r"""
DO $do$
DECLARE
    found text;
BEGIN
    SELECT string_agg(p.oid::regprocedure::text, ', ' ORDER BY p.oid) INTO found
    FROM pg_proc AS p
    WHERE p.pronamespace NOT IN ('blend'::regnamespace, 'pgblend'::regnamespace)
        AND p.prosrc ~ '\m{source}\.[a-z]\w*\M(?!'')';
    IF found IS NOT NULL THEN
        RAISE WARNING 'what is public is now in the schema {target}; routines that say {source}: %',
            found USING HINT = 'create them anew, with {target}';
    END IF;
END
$do$;
"""


def refuse_foreign(connection: Connection) -> None:
    """Raise UserError where the schema `blend` is there and holds no pgblend."""
    owner = connection.execute(_OWNER, {"schema": PUBLIC}).scalar()
    if owner is not None and not connection.execute(_IS_OURS).scalar_one():
        raise UserError(
            f'the schema "{PUBLIC}" is there and not pgblend\'s: it belongs to {owner}',
            hint=f"pgblend needs that name: ALTER SCHEMA {PUBLIC} RENAME TO …, or use a database "
            "of its own",
        )


def current(connection: Connection) -> str:
    """Name the schema that has the public objects: pgblend before revision 0011."""
    return PUBLIC if connection.execute(_IS_OURS).scalar_one() else PRIVATE


def create(connection: Connection, script: str) -> None:
    """Make the schema and move into it what is public of a script's objects."""
    owner = connection.execute(_OWNER, {"schema": PRIVATE}).scalar_one()
    execute_script(connection, _CREATE.format(owner=owner))
    _move(connection, script, PRIVATE, PUBLIC)


def drop(connection: Connection, script: str) -> None:
    """Move what is public of a script's objects back, and drop the schema."""
    _move(connection, script, PUBLIC, PRIVATE)
    execute_script(connection, _DROP)


def _move(connection: Connection, script: str, source: str, target: str) -> None:
    schemas = {"source": source, "target": target}
    names = {
        "routines": _public(created_names(script, "FUNCTION", "PROCEDURE")),
        "views": _public(created_names(script, "VIEW")),
        "types": TYPES,
    }
    usage = connection.execute(_USAGE, schemas).scalar()
    moves = connection.execute(_MOVE, schemas | names).scalar()
    execute_script(connection, f"{usage or ''}{moves}")
    execute_script(connection, _WARN.format(**schemas))


def _public(names: list[str]) -> list[str]:
    return [name for name in names if not name.startswith("_")]
