"""Rules that every routine, table and view keeps, read from the catalogue."""

import hashlib
import re
from importlib.resources import files

import psycopg
import pytest

from pgblend.sql import source_objects
from pgblend.sql.program import program_text

# Why each is safe that runs with its owner's rights. None evaluates an expression whose meaning a
# lesser role can define: a cast, operator or function of a user's type, a policy, an index.
CLAIMED = "base types alone, of a collection whose claim this transaction holds"
SECURITY_DEFINER = {
    "_edge_check_ends": "a trigger: numbers of rows that security allowed; it only refuses",
    "_link_check_target": "a trigger: numbers of rows that security allowed; it only refuses",
    "_chunk_index": "a trigger: base types of the new chunks, whose rows security allowed",
    "_chunk_bury": "a trigger: ids of the deleted chunks, whose rows security allowed",
    "_compartment": "base types alone; for who may write to the collection, as it looks for itself",
    "_document_refuse_twin": "a trigger: looks for keys of new rows; an error names one of them",
    "_note_collection_change": "a trigger without values: notes the transaction's number",
    "_grant_follow": "a trigger: a grant that row security allowed, on what is in the collection",
    "_signed_groups": "base types alone; only admins",
    "_drop_pending": CLAIMED,
    "_drop_segments": CLAIMED,
    "_load_segment": CLAIMED,
    "_rebuild_vocabulary": CLAIMED,
    "_seal_batch": CLAIMED,
    "_seal_missing": CLAIMED,
    "_collection_add_locks": "a trigger: the number of the new collection",
    "_refuse_moved": "a trigger that locks a row which nobody but the owner may change",
    "_activate_space": "which space is active; only admins",
    "_end_bridge": "it sees for itself that no chunk waits",
    "_keep_bridge": "base types and numbers, whose dimensions the type checks; only admins",
    "_keep_space": "its names and types are checked, those of a space's table quoted; only admins",
    "_note_probe": "a space's probe: base types alone; only admins",
    "_note_tuned": "a space's search list: base types alone; only admins",
    "_set_space": "what changes of a space, base types alone; only admins",
    "_note_front": "the version of this shard's front: a number; only admins",
    "_note_pushed": "the version of a shard's front: a number; only admins",
    "_keep_attachment": "a table of an owner that the caller may become: triggers, no row",
    "_drop_attachment": "takes triggers off a table of an owner that the caller may become",
    "_kept_attachment": "locks a row of the registry; only admins",
    "_lock_as_writer": "locks a row of a collection; for who may write to it, as it looks",
    "_locked_attachment": "locks a row of the registry, for who may read the table's rows",
    "_note_filled": "how far a table is filled, for who may read its rows",
    "_follow_partitions": "triggers of a table on its partitions, for who may read its rows",
    "_index_embedding_space": "its names and types are the registry's, quoted; only admins",
    "_embedding_allowance": "fills a space's bucket by the admins' setting; base types alone",
    "_take_allowance": "takes from a space's bucket what it holds at most; base types alone",
    "_logged_search": "reads the log by id, of the role that asks alone",
    "_probe_model": "asks the model that an admin names for a fixed text; only admins",
    "_read_attached": "for who may read all rows; the reader has the table owner's rights",
    "_row_changed": "of rows only output functions; reads no relation by a name that others give",
    "_note_click": "writes a row of the role that asks, and nothing else",
    "_report_search": "address, role, query, collections and times are not the caller's",
    "_request_model": "address, path and model are settings'; the input is JSON for the model",
    "_table_changed": "of rows only output functions; the reader has the table owner's rights",
    "_table_truncated": "reads no row itself; the reader has the table owner's rights",
    "_token_groups": "signs for pgblend_serve what a token has, for its role; base types alone",
    "_token_role": "shows pgblend_serve what row security shows it; base types alone",
    "_drop_embedding_space": "its names are the registry's, which a constraint checks; only admins",
}
OURS = "pronamespace IN ('blend'::regnamespace, 'pgblend'::regnamespace)"
RELATIONS = "relnamespace::regnamespace::text IN ('blend', 'pgblend', 'pgblend_data')"


def column(catalogue: psycopg.Connection, query: str) -> list[str]:
    return [str(row[0]) for row in catalogue.execute(query)]  # type: ignore[call-overload]


def test_there_is_something_to_check(catalogue: psycopg.Connection) -> None:
    assert len(column(catalogue, f"SELECT proname FROM pg_proc WHERE {OURS}")) > 50


def test_what_is_public_is_in_blend_and_has_no_leading_underscore(
    catalogue: psycopg.Connection,
) -> None:
    query = (
        "SELECT o.name FROM (SELECT pronamespace, proname FROM pg_proc"
        " UNION ALL SELECT relnamespace, relname FROM pg_class"
        " UNION ALL SELECT typnamespace, typname FROM pg_type WHERE typcategory <> 'A'"
        ") AS o (schema, name) WHERE o.schema = '{}'::regnamespace"
    )
    public, private = (column(catalogue, query.format(name)) for name in ("blend", "pgblend"))
    assert [name for name in public if name.startswith("_")] == []
    assert [name for name in private if not name.startswith("_")] == []
    assert public
    assert private


def test_public_signatures_have_public_types(catalogue: psycopg.Connection) -> None:
    query = (
        "SELECT p.oid::regprocedure FROM pg_proc AS p"
        " CROSS JOIN LATERAL unnest(p.proallargtypes || p.proargtypes::oid[] || p.prorettype)"
        " AS used (type) INNER JOIN pg_type AS t ON t.oid = used.type"
        " WHERE p.pronamespace = 'blend'::regnamespace"
        " AND t.typnamespace::regnamespace::text IN ('pgblend', 'pgblend_data')"
    )
    assert column(catalogue, query) == []


def test_only_its_owner_may_create_in_a_schema_of_ours(catalogue: psycopg.Connection) -> None:
    query = (
        "SELECT n.nspname, a.grantee::regrole FROM pg_namespace AS n,"
        " aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) AS a"
        " WHERE n.nspname IN ('blend', 'pgblend', 'pgblend_data')"
        " AND a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner"
    )
    assert catalogue.execute(query).fetchall() == []  # type: ignore[call-overload]


def test_every_routine_has_a_comment(catalogue: psycopg.Connection) -> None:
    query = f"SELECT oid::regprocedure FROM pg_proc WHERE {OURS} AND obj_description(oid) IS NULL"
    assert column(catalogue, query) == []


def test_every_table_view_and_type_has_a_comment(catalogue: psycopg.Connection) -> None:
    query = (
        f"SELECT oid::regclass FROM pg_class WHERE {RELATIONS} AND relkind IN ('r', 'v', 'c')"
        " AND relname <> 'alembic_version' AND coalesce("
        "obj_description(oid, 'pg_class'), obj_description(reltype, 'pg_type')) IS NULL"
    )
    assert column(catalogue, query) == []


def test_every_column_of_views_and_results_has_a_comment(catalogue: psycopg.Connection) -> None:
    query = (
        "SELECT c.oid::regclass || '.' || a.attname FROM pg_class AS c"
        " JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0"
        f" WHERE {RELATIONS} AND relkind IN ('v', 'c') AND col_description(c.oid, attnum) IS NULL"
    )
    assert column(catalogue, query) == []


def test_views_show_what_their_reader_may_see(catalogue: psycopg.Connection) -> None:
    query = (
        f"SELECT relname::text, coalesce(reloptions, '{{}}') FROM pg_class"
        f" WHERE {RELATIONS} AND relkind = 'v'"
        " AND NOT coalesce(reloptions, '{}') @> '{security_invoker=true}'"
    )
    # Those that ask themselves what their reader may see (docs/decisions/security.md).
    assert catalogue.execute(f"{query} ORDER BY 1").fetchall() == [
        ("_document_containing", ["security_barrier=true"]),
        ("_similar_lexeme", ["security_barrier=true"]),
        ("granted_words", ["security_barrier=true"]),
        ("lasting_proof", ["security_barrier=true"]),
        ("own_roles", ["security_barrier=true"]),
        ("proof_occasion", ["security_barrier=true"]),
        ("readable_collection", ["security_barrier=true"]),
        ("readable_proof", ["security_barrier=true"]),
        ("readable_words", ["security_barrier=true"]),
        ("renewed_proof", ["security_barrier=true"]),
        ("searches", ["security_barrier=true"]),
        ("session_group", ["security_barrier=true"]),
    ]


def test_routines_that_run_sql_have_a_search_path(catalogue: psycopg.Connection) -> None:
    query = (
        f"SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_language AS l ON l.oid = prolang"
        f" WHERE {OURS} AND array_to_string(proconfig, ' ') !~ 'search_path=' IS NOT FALSE"
        " AND (lanname = 'plpgsql' OR lanname LIKE 'plpython%%'"
        "   AND replace(prosrc, %s, '') ~ 'plpy\\.(execute|prepare|cursor)')"
    )
    digest = hashlib.sha256(program_text().encode()).hexdigest()
    load = (files("pgblend.sql") / "load_program.txt").read_text("utf-8")  # names its schema
    rows = catalogue.execute(query, [load.replace("#digest", digest)]).fetchall()  # type: ignore[call-overload]
    assert rows == []


def test_what_forbids_a_kind_of_plan_forbids_compiling_it(catalogue: psycopg.Connection) -> None:
    # A plan that has to do what is forbidden costs 10,000,000,000, so PostgreSQL would compile it:
    # half a second a statement, as in the policies of a role that may not see all collections.
    forbids = "array_to_string(proconfig, ' ') ~ '\\yenable_\\w+='"
    query = f"SELECT p.oid::regprocedure FROM pg_proc AS p WHERE {OURS} AND {forbids}"
    assert len(column(catalogue, query)) == 7
    assert column(catalogue, f"{query} AND NOT 'jit=off' = ANY(proconfig)") == []


def test_sql_bodies_are_bound_when_created(catalogue: psycopg.Connection) -> None:
    query = (
        "SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_language AS l ON l.oid = prolang"
        f" WHERE {OURS} AND lanname = 'sql' AND prosqlbody IS NULL"
        " AND proname NOT LIKE '\\_program%'"
    )
    assert column(catalogue, query) == []


def test_only_the_listed_functions_run_with_their_owners_rights(
    catalogue: psycopg.Connection,
) -> None:
    query = f"SELECT proname FROM pg_proc WHERE {OURS} AND prosecdef"
    assert set(column(catalogue, query)) == SECURITY_DEFINER.keys()
    paths = column(catalogue, f"SELECT proconfig[1] FROM pg_proc WHERE {OURS} AND prosecdef")
    assert set(paths) == {"search_path=pg_catalog, pg_temp"}


def test_no_value_of_a_users_table_is_cast() -> None:
    casts = re.compile(r"t\.%(\d\$)?I\s*::|to_jsonb?\(t\.%")
    assert [one.name for one in source_objects() if casts.search(one.text)] == []


def test_what_they_call_has_a_safe_search_path_too(catalogue: psycopg.Connection) -> None:
    safe = set(
        column(
            catalogue,
            f"SELECT proname FROM pg_proc WHERE {OURS} AND (prosqlbody IS NOT NULL"
            " OR proconfig @> ARRAY['search_path=pg_catalog, pg_temp'])",
        )
    )
    objects = {one.name: one for one in source_objects()}
    # Its path is what it looks along; everything in it is named with its schema.
    body = objects["_regconfig"].text.split("$function$")[1]
    names = re.findall(r"(?:::|FROM )([\w.]+)|([\w.]+)(?=\()", body)
    assert {"".join(name).split(".")[0] for name in names} == {"pg_catalog", "OPERATOR"}
    assert not re.search(r"[^\w\s.,:;()]", body.replace("OPERATOR(pg_catalog.=)", ""))
    safe.add("_regconfig")
    reached: set[str] = set()
    waiting = set(SECURITY_DEFINER)
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= (objects[name].calls & objects.keys()) - reached
    assert reached > SECURITY_DEFINER.keys()
    assert reached <= safe


@pytest.mark.parametrize("table", ["collection", "document", "chunk", "embedding_queue",
                                   "collection_grant", "collection_language"])  # fmt: skip
def test_row_security_is_on(catalogue: psycopg.Connection, table: str) -> None:
    query = f"SELECT relrowsecurity FROM pg_class WHERE oid = 'pgblend_data.{table}'::regclass"
    assert column(catalogue, query) == ["True"]


def test_policies_for_writers_are_of_changes_alone(catalogue: psycopg.Connection) -> None:
    # One for all commands is made ready for each table of each search: a tenth of its time.
    query = """
        SELECT polname FROM pg_policy
        WHERE polcmd = '*' AND pg_get_expr(polqual, polrelid) ~ 'collection_grant'
    """
    assert column(catalogue, query) == ["graph_change_write"]  # only writers read it


def test_public_may_call_what_asks_for_a_role_and_nothing_else(
    catalogue: psycopg.Connection,
) -> None:
    """It runs with the caller's rights, and begins by asking which role that is."""
    guard = r"^\s*BEGIN\s+IF NOT pg_has_role\(''pgblend_\w+'', ''USAGE''\) THEN\s+RAISE"
    functions = f"SELECT proname FROM pg_proc WHERE {OURS} AND has_function_privilege("
    asking = f"pronamespace = 'blend'::regnamespace AND NOT prosecdef AND prosrc ~ '{guard}'"
    open_to_all = f"{functions}'public', oid, 'EXECUTE')"
    assert column(catalogue, f"{open_to_all} AND ({asking}) IS NOT TRUE") == []
    assert len(column(catalogue, open_to_all)) >= 50
    relations = f"SELECT oid::regclass FROM pg_class WHERE {RELATIONS} AND relkind IN ('r', 'v')"
    for privilege in ("SELECT", "INSERT", "UPDATE", "DELETE"):
        query = f"{relations} AND has_table_privilege('public', oid, '{privilege}')"
        assert column(catalogue, query) == []


def test_store_rows_carry_collection_document_and_bucket(catalogue: psycopg.Connection) -> None:
    for table in ("chunk", "embedding_queue"):
        query = (
            "SELECT attname FROM pg_attribute WHERE attnotnull"
            f" AND attrelid = 'pgblend_data.{table}'::regclass"
        )
        assert set(column(catalogue, query)) >= {"collection_id", "document_id", "bucket"}
