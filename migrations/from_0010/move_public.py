"""What is public moves from pgblend to the schema `blend`.

Objects are moved, not made anew, so what users built on them (views, defaults, grants) stays.
"""

from sqlalchemy import Connection, text

from pgblend.migrations.replace_routines import created_names, execute_script

TYPES = ["search_result"]  # of public signatures

_OWNER = text("SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'pgblend'")
_CREATE = """
CREATE SCHEMA blend AUTHORIZATION {owner};
COMMENT ON SCHEMA blend IS 'pgblend: the functions to call and the views to look at.';
COMMENT ON SCHEMA pgblend IS 'pgblend: private routines.';
COMMENT ON SCHEMA pgblend_data IS 'pgblend: tables. Query them through the schema blend.';
COMMENT ON TABLE pgblend_data.setting IS
'Settings that differ from their defaults; names, types and defaults: blend.setting_catalog().';
"""
# Whoever may look into one schema may look into the other. CREATE is the owner's alone.
_USAGE = text("""
SELECT string_agg(format(
    'GRANT USAGE ON SCHEMA blend TO %s%s;',
    CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END,
    CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END), '')
FROM pg_namespace AS n
CROSS JOIN LATERAL aclexplode(n.nspacl) AS a
WHERE n.nspname = 'pgblend' AND a.privilege_type = 'USAGE' AND a.grantee <> n.nspowner
""")
_MOVE = text("""
SELECT string_agg(format('ALTER %s SET SCHEMA blend;', o.object), '')
FROM (
    SELECT 'ROUTINE ' || p.oid::regprocedure FROM pg_proc AS p
    WHERE p.pronamespace = to_regnamespace('pgblend') AND p.proname = ANY (:routines)
    UNION ALL
    SELECT CASE c.relkind WHEN 'v' THEN 'VIEW ' ELSE 'TYPE ' END || c.oid::regclass
    FROM pg_class AS c
    WHERE c.relnamespace = to_regnamespace('pgblend')
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
        AND p.prosrc ~ '\mpgblend\.[a-z]\w*\M(?!'')';
    IF found IS NOT NULL THEN
        RAISE WARNING 'what is public is now in the schema blend; routines that say pgblend: %',
            found USING HINT = 'create them anew, with blend';
    END IF;
END
$do$;
"""


def move_public(connection: Connection, outline: str) -> None:
    """Make the schema and move into it what is public of an outline's objects."""
    owner = connection.execute(_OWNER).scalar_one()
    execute_script(connection, _CREATE.format(owner=owner))
    names = {
        "routines": _public(created_names(outline, "FUNCTION", "PROCEDURE")),
        "views": _public(created_names(outline, "VIEW")),
        "types": TYPES,
    }
    usage = connection.execute(_USAGE).scalar()
    moves = connection.execute(_MOVE, names).scalar()
    execute_script(connection, f"{usage or ''}{moves}")
    execute_script(connection, _WARN)


def _public(names: list[str]) -> list[str]:
    return [name for name in names if not name.startswith("_")]
