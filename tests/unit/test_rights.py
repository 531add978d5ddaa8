"""Rights on private routines follow the calls of those that may be called."""

from pgblend.sql.rights import derived_grants

ACCESS = """\
REVOKE ALL ON FUNCTION
pgblend._owner_alone
FROM public;
GRANT EXECUTE ON FUNCTION
blend.search
TO pgblend_reader;
GRANT EXECUTE ON FUNCTION
blend.store,
pgblend._worker
TO pgblend_writer;
"""
PROGRAM = {
    "pgblend.plpy.arms": 'from pgblend.plpy.rows import read\n"""Not _other."""\n',
    "pgblend.plpy.rows": 'read = "SELECT pgblend._leaf()"\n',
}


def grants(sources: dict[str, str], access: str = ACCESS) -> list[str]:
    code = {name: f"\nCREATE OR REPLACE {text}\n" for name, text in sources.items()}
    statements = derived_grants(access, code, PROGRAM).replace("\n", " ")
    return [statement.strip() for statement in statements.split(";") if statement.strip()]


def test_a_right_goes_to_the_least_role_that_calls() -> None:
    calls = {
        "search": "FUNCTION pgblend._shared()",
        "store": "FUNCTION pgblend._shared() pgblend._stored()",
        "_shared": "FUNCTION pgblend._leaf()",
        "_worker": "FUNCTION pgblend._stored()",
        "_stored": "FUNCTION",
        "_leaf": "FUNCTION",
        "_nobody": "FUNCTION pgblend._leaf()",
    }
    assert grants(calls) == [
        "GRANT EXECUTE ON FUNCTION pgblend._leaf, pgblend._shared TO pgblend_reader",
        "GRANT EXECUTE ON FUNCTION pgblend._stored TO pgblend_writer",
    ]


def test_a_routine_with_its_owners_rights_ends_the_way() -> None:
    calls = {
        "search": "FUNCTION pgblend._guarded() pgblend._owner_alone()",
        "_guarded": "FUNCTION\nSECURITY DEFINER\npgblend._leaf()",
        "_owner_alone": "FUNCTION pgblend._leaf()",
        "_leaf": "FUNCTION",
    }
    assert grants(calls) == ["GRANT EXECUTE ON FUNCTION pgblend._guarded TO pgblend_reader"]


def test_the_program_calls_by_its_texts_and_imports() -> None:
    calls = {
        "search": "FUNCTION\nfrom pgblend.plpy.arms import find",
        "_leaf": "FUNCTION",
        "_other": "FUNCTION",
    }
    assert grants(calls) == ["GRANT EXECUTE ON FUNCTION pgblend._leaf TO pgblend_reader"]


def test_a_view_is_read() -> None:
    calls = {
        "search": "FUNCTION pgblend._seen",
        "_seen": "VIEW pgblend._leaf()",
        "_leaf": "FUNCTION",
    }
    assert grants(calls) == [
        "GRANT SELECT ON pgblend._seen TO pgblend_reader",
        "GRANT EXECUTE ON FUNCTION pgblend._leaf TO pgblend_reader",
    ]
