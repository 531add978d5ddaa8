"""A document with readers of its own is there for them and for writers, and for nobody else."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.database import Database, add_documents, add_space, embed_waiting, vector_of

PAGES = [
    ("rules.md", "House rules", "Everybody closes the windows at night."),
    ("salary.md", "Salary bands", "The director earns a zirconium bonus."),
    ("lunch.md", "Lunch", "The kitchen serves soup at noon."),
]
# What there is of the salary for a role: counts and truth values, 0 where it may not read it.
DOORS = {
    "words": "SELECT count(*) FROM lexical_search('zirconium', options => '{\"strict\": true}')",
    "title": "SELECT count(*) FROM lexical_search('bands', options => '{\"strict\": true}')",
    "key": "SELECT count(*) FROM lexical_search('salary.md') WHERE source_key = 'salary.md'",
    "fuzzy": "SELECT count(*) FROM fuzzy_search('zircomium')",
    "hybrid": "SELECT count(*) FROM hybrid_search('zirconium', query_embedding => VECTOR)"
    " WHERE source_key = 'salary.md'",
    "vector": "SELECT count(*) FROM vector_search(query_embedding => VECTOR)"
    " WHERE source_key = 'salary.md'",
    "filter": "SELECT count(*) FROM hybrid_search('bonus', query_embedding => VECTOR, "
    """filter => '{"level": {"contains": 1}}')""",
    "facets": "SELECT count(*) FROM search_facets('director', ARRAY['level'],"
    " query_embedding => VECTOR) WHERE value <> 'null'",
    "context": "SELECT (get_context('zirconium', query_embedding => VECTOR)::text"
    " LIKE '%director%')::integer",
    "explain": "SELECT (search_explain('zirconium', query_embedding => VECTOR)::text"
    " LIKE '%salary.md%')::integer",
    "documents": "SELECT count(*) FROM documents WHERE source_key = 'salary.md'",
    "chunks": "SELECT count(*) FROM chunks WHERE content LIKE '%zirconium%'",
    "metadata": "SELECT count(*) FROM document_metadata WHERE source_key = 'salary.md'",
    "rows": "SELECT count(*) FROM pgblend_data.document WHERE source_key = 'salary.md'",
    "passages": "SELECT count(*) FROM pgblend_data.chunk WHERE content LIKE '%zirconium%'",
    "vocabulary": "SELECT count(*) FROM pgblend_data.vocabulary WHERE lexeme = 'zirconium'",
    "names": "SELECT count(DISTINCT document_id) FROM pgblend_data.document_name"
    " WHERE name LIKE '%salary%'",
    "vectors": "SELECT count(*) - 2 FROM TABLE_OF_VECTORS",
    "size": "SELECT documents - 2 FROM collections",
    "rights": "SELECT count(*) FROM document_rights",
}
NONE = dict.fromkeys(DOORS, 0)
ALL = dict.fromkeys(DOORS, 1)


@contextmanager
def acting(db: Database, role: str, groups: str = "") -> Iterator[None]:
    """Run statements as a role that holds groups, by a value that sign_groups gave."""
    db.rows(f"SET ROLE {role}")
    db.rows("SELECT set_config('pgblend.groups', %s, true)", groups)
    try:
        yield
    finally:
        db.rows("RESET ROLE")
        db.rows("SELECT set_config('pgblend.groups', '', true)")


def seen(db: Database, role: str, groups: str = "") -> dict[str, int]:
    """What a role finds, one door after the other."""
    table = db.value("SELECT table_name FROM pgblend_data.embedding_space WHERE active")
    vector = f"'{vector_of('zirconium')}'"
    with acting(db, role, groups):
        return {
            name: db.value(
                door.replace("VECTOR", vector).replace("TABLE_OF_VECTORS", f"pgblend_data.{table}")
                if name != "vectors"
                else door.replace("TABLE_OF_VECTORS", f"pgblend_data.{table}")
            )
            for name, door in DOORS.items()
        }


@pytest.fixture
def roles(db: Database) -> dict[str, str]:
    """Four roles of the transaction: a stranger, one of the staff, who is in it, and a writer."""
    names = {n: f"{n}_{os.getpid()}" for n in ("stranger", "staff", "member", "clerk")}
    for name in names.values():
        db.rows(f"CREATE ROLE {name} IN ROLE pgblend_reader")
    db.rows(f"GRANT {names['staff']} TO {names['member']}")
    db.rows(f"GRANT pgblend_writer TO {names['clerk']}")
    return names


@pytest.fixture
def house(db: Database, roles: dict[str, str]) -> Database:
    """A collection that all four roles may read, with vectors and one document to hide."""
    add_space(db)
    db.rows("SELECT add_collection('house')")
    for name in ("stranger", "member"):
        db.rows("SELECT grant_collection('house', %s)", roles[name])
    db.rows("SELECT grant_collection('house', %s, 'write')", roles["clerk"])
    add_documents(db, "house", PAGES)
    db.rows(
        "SELECT set_metadata(document_id, '{\"level\": [1]}') FROM documents"
        " WHERE source_key = 'salary.md'"
    )
    embed_waiting(db)
    return db


def test_a_document_is_found_by_its_readers_alone(house: Database, roles: dict[str, str]) -> None:
    """Through each door; who gets or loses the right has it, or not, in the same transaction."""
    public = ALL | {"rights": 0}
    assert seen(house, roles["stranger"]) == public
    waiting = house.value("SELECT count(*) FROM pgblend_data.embedding_queue")
    house.rows("SELECT grant_document('house', 'salary.md', %s)", roles["staff"])
    assert seen(house, roles["stranger"]) == NONE
    assert seen(house, roles["member"]) == ALL
    assert seen(house, roles["clerk"]) == ALL
    assert house.value("SELECT count(*) FROM pgblend_data.embedding_queue") == waiting == 0
    assert house.value("SELECT revoke_document('house', 'salary.md', %s)", roles["staff"])
    assert not house.value("SELECT revoke_document('house', 'salary.md', %s)", roles["staff"])
    assert seen(house, roles["member"]) == NONE
    assert seen(house, roles["clerk"]) == ALL
    house.rows("SELECT set_document_readers('house', 'salary.md', NULL)")
    assert seen(house, roles["stranger"]) == public


def test_groups_count_where_they_are_signed(house: Database, roles: dict[str, str]) -> None:
    """For the role and the time they were signed for; a reader cannot sign them."""
    house.rows("SELECT grant_document('house', 'salary.md', 'hr')")
    stranger, member = roles["stranger"], roles["member"]

    def signed(role: str, groups: str = "{sales,hr}", time: str = "1 minute") -> str:
        return house.value("SELECT sign_groups(%s, %s, %s)", groups, role, time)

    good = signed(stranger)
    assert seen(house, stranger, good) == ALL
    wrong = [
        signed(stranger, "{sales}"),
        signed(stranger, time="-1 second"),
        signed(member),
        good.replace("sales", "hr"),
        good[64:],
        "0" * 64 + good[64:],
        "{",
    ]
    for value in wrong:
        assert seen(house, stranger, value) == NONE, value
    with acting(house, stranger):
        assert house.error("SELECT sign_groups('{hr}', current_user)").sqlstate == "42501"
        assert house.error("SELECT * FROM pgblend_data.group_secret").sqlstate == "42501"
    house.rows(f"DROP OWNED BY {stranger}; DROP ROLE {stranger}")
    house.rows(f"CREATE ROLE {stranger} IN ROLE pgblend_reader")
    house.rows("SELECT grant_collection('house', %s)", stranger)
    assert seen(house, stranger, good) == NONE
    assert seen(house, stranger, signed(stranger)) == ALL


def test_a_proof_of_what_may_be_read_counts_for_its_statement(
    house: Database, roles: dict[str, str]
) -> None:
    """What a search finds readable shows nothing of another statement, role or by other groups."""
    stranger, member = roles["stranger"], roles["member"]
    house.rows("SELECT grant_document('house', 'salary.md', 'hr')")
    house.rows("SELECT grant_document('house', 'salary.md', %s)", member)
    held = house.value("SELECT sign_groups('{hr}', %s)", stranger)
    prove = "SELECT set_config('pgblend.readable', proof, true) FROM pgblend_data.readable_proof"
    count = "SELECT count(*) FROM pgblend_data.document WHERE source_key = 'salary.md'"
    proved = (
        f"WITH p AS MATERIALIZED ({prove}) SELECT q.words FROM p CROSS JOIN LATERAL ("
        " SELECT w.words FROM pgblend_data.readable_words AS w"
        " WHERE p.set_config <> '' OFFSET 0) AS q"
    )
    with acting(house, member):
        words = house.value(proved)
        assert words is not None
        proof = house.value("SELECT proof FROM pgblend_data.readable_proof")
        assert house.value(count) == 1
    with acting(house, stranger, held):
        assert house.value(proved) is not None
        assert house.value(count) == 1
        own = house.value("SELECT proof FROM pgblend_data.readable_proof")
    everything = str([-1] * len(words)).replace("[", "{").replace("]", "}")
    with acting(house, stranger):
        for wrong in (proof, own, everything + own[-64:], everything, "{", "0" * 64):
            # In the statement that has it, and in those after it.
            given = f"SELECT set_config('pgblend.readable', '{wrong}', true) IS NOT NULL"
            joined = f"WITH p AS MATERIALIZED ({given} AS p) SELECT q.count FROM p CROSS JOIN"
            assert house.value(f"{joined} LATERAL ({count} AND p.p OFFSET 0) AS q") == 0, wrong
            assert house.value(count) == 0, wrong
        assert house.value(DOORS["words"]) == 0
        assert house.value(prove)
        assert house.value(count) == 0
    # What a search proved ends with it: a right that is lost in the same statement is lost.
    house.rows(
        f"""DO $do$ BEGIN
        EXECUTE 'SET LOCAL ROLE {member}';
        PERFORM count(*) FROM lexical_search('zirconium');
        EXECUTE 'RESET ROLE';
        PERFORM set_document_readers('house', 'salary.md', '{{}}');
        EXECUTE 'SET LOCAL ROLE {member}';
        IF EXISTS (SELECT FROM documents WHERE source_key = 'salary.md') THEN
            RAISE EXCEPTION 'still there';
        END IF;
        EXECUTE 'RESET ROLE';
        END $do$"""
    )


def test_what_is_stored_again_keeps_its_readers(house: Database, roles: dict[str, str]) -> None:
    """Whoever stores it; a second one under its key is refused, and deleting takes it away."""
    house.rows("SELECT grant_document('house', 'salary.md', %s)", roles["staff"])
    before = house.value("SELECT document_id FROM documents WHERE source_key = 'salary.md'")
    with acting(house, roles["clerk"]):
        stored = house.row(
            "SELECT document_id, status FROM ingest_document('house', 'salary.md', %s, %s)",
            "The director earns a zirconium bonus, twice.",
            "Salary bands",
        )
        twin = house.error(
            "INSERT INTO pgblend_data.document (collection_id, bucket, source_key, title,"
            " text_search_config, metadata, content_hash)"
            " SELECT c.id, 0, 'salary.md', '', 'english', '{}', ''"
            " FROM collections AS c WHERE c.name = 'house'"
        )
    assert stored == (before, "replaced")
    assert twin.sqlstate == "23505"
    found = ("words", "documents", "rows", "passages", "names", "vocabulary")
    assert [seen(house, roles["stranger"])[name] for name in found] == [0] * len(found)
    assert [seen(house, roles["member"])[name] for name in found] == [1] * len(found)
    assert house.value("SELECT delete_document('house', 'salary.md')")
    assert house.value("SELECT count(*) FROM documents WHERE source_key = 'salary.md'") == 0
    assert house.value("SELECT remove_collection('house')")


def test_who_may_not_write_gives_no_rights(house: Database, roles: dict[str, str]) -> None:
    """Neither by the routines nor around them; grants of the collection follow."""
    house.rows("SELECT set_document_readers('house', 'salary.md', '{}')")
    assert seen(house, roles["member"]) == NONE
    with acting(house, roles["member"]):
        for call in (
            "SELECT grant_document('house', 'lunch.md', current_user::text)",
            "SELECT pgblend._compartment(1, '{}')",
            "INSERT INTO pgblend_data.document_reader (collection_id, reader, is_group)"
            " VALUES (1, 'hr', true)",
        ):
            assert house.error(call).sqlstate == "42501", call
    with acting(house, roles["clerk"]):
        own = "SELECT id FROM pgblend_data.collection WHERE parent_id IS NOT NULL"
        taken = f"INSERT INTO pgblend_data.document_reader VALUES (({own}), 'hr', true)"
        assert house.error(taken).sqlstate == "42501"
        assert house.error("SELECT pgblend._compartment(-1, '{}')").sqlstate == "42501"
    house.rows("SELECT revoke_collection('house', %s, 'write')", roles["clerk"])
    with acting(house, roles["clerk"]):
        assert house.value("SELECT count(*) FROM documents") == 0
    house.rows("SELECT grant_collection('house', %s, 'write')", roles["member"])
    assert seen(house, roles["member"]) == ALL


def test_a_role_that_is_made_anew_reads_nothing(house: Database, roles: dict[str, str]) -> None:
    """And the group of its name does not either."""
    house.rows("SELECT set_document_readers('house', 'salary.md', %s)", [roles["staff"], "hr"])
    house.rows(f"DROP OWNED BY {roles['staff']}; DROP ROLE {roles['staff']}")
    house.rows(f"CREATE ROLE {roles['staff']}; GRANT {roles['staff']} TO {roles['member']}")
    assert seen(house, roles["member"]) == NONE
    house.rows("SELECT grant_document('house', 'salary.md', 'sales')")
    assert house.value("SELECT readers FROM document_rights") == ["group:hr", "group:sales"]
    assert seen(house, roles["member"]) == NONE


@pytest.mark.parametrize(
    ("call", "state"),
    [
        ("grant_document('house', 'no.md', 'hr')", "42704"),
        ("grant_document('house', NULL, 'hr')", "42704"),
        ("grant_document('none', 'salary.md', 'hr')", "42704"),
        ("grant_document('house', 'salary.md', NULL)", "22023"),
        ("grant_document('house', 'salary.md', ' ')", "22023"),
        ("grant_document('house', 'salary.md', 'group:')", "22023"),
        ("grant_document('house', 'salary.md', repeat('x', 64))", "22023"),
        ("set_document_readers('house', 'salary.md', '{hr,NULL}')", "22023"),
        ("revoke_document('house', 'salary.md', 'hr')", "22023"),
        ("sign_groups(NULL, 'hr')", "22004"),
        ("sign_groups('{hr,NULL}', 'hr')", "22004"),
        ("sign_groups('{hr}', 'nobody')", "42704"),
    ],
)
def test_wrong_arguments_are_named(house: Database, call: str, state: str) -> None:
    """With what was expected, and what to do."""
    error = house.error(f"SELECT {call}")
    assert (error.sqlstate, bool(error.message_hint)) == (state, True)


@pytest.fixture
def papers(db: Database, roles: dict[str, str]) -> Database:
    """The same documents as rows of a table, which a role writes that has no right of ours."""
    add_space(db)
    db.rows("CREATE TABLE public.house (name text PRIMARY KEY, title text, body text,"
            " level integer[], readers text[])")  # fmt: skip
    db.connection.cursor().executemany(
        "INSERT INTO public.house VALUES (%s, %s, %s, ARRAY[%s::integer], NULL)",
        [(*page, {"salary.md": 1}.get(page[0])) for page in PAGES],
    )
    assert db.value("SELECT rows_filled FROM " + ATTACHED) == len(PAGES)
    for name in ("stranger", "member"):
        db.rows("SELECT grant_collection('house', %s)", roles[name])
    db.rows("SELECT grant_collection('house', %s, 'write')", roles["clerk"])
    db.rows("CREATE ROLE shop_app; GRANT SELECT, INSERT, UPDATE, DELETE ON house TO shop_app")
    embed_waiting(db)
    return db


ATTACHED = "attach_table('house', '{body}', 'title', '{level}', rights_column => 'readers')"


def written(db: Database, statement: str, *values: object) -> None:
    """Have the application's role change its table."""
    with acting(db, "shop_app"):
        db.connection.execute(statement, values or None)


def test_a_row_is_found_by_the_readers_that_it_names(
    papers: Database, roles: dict[str, str]
) -> None:
    """In the transaction that changes the row; nothing is embedded anew."""
    public = ALL | {"rights": 0}
    change = "UPDATE house SET readers = %s WHERE name = 'salary.md'"
    assert seen(papers, roles["stranger"]) == public
    written(papers, change, [roles["staff"]])
    assert papers.value("SELECT count(*) FROM pgblend_data.embedding_queue") == 0
    assert seen(papers, roles["stranger"]) == NONE
    assert seen(papers, roles["member"]) == seen(papers, roles["clerk"]) == ALL
    written(papers, change, ["group:hr"])
    assert seen(papers, roles["member"]) == NONE
    signed = papers.value("SELECT sign_groups('{hr}', %s)", roles["stranger"])
    assert seen(papers, roles["stranger"], signed) == ALL
    written(papers, "UPDATE house SET body = body || ' Twice.' WHERE name = 'salary.md'")
    written(papers, "UPDATE house SET level = '{1}' WHERE name = 'salary.md'")
    embed_waiting(papers)
    assert seen(papers, roles["stranger"]) == NONE
    assert seen(papers, roles["stranger"], signed) == ALL
    assert papers.rows("SELECT * FROM check_attached_tables()") == []
    written(papers, change, None)
    assert seen(papers, roles["stranger"]) == public
    assert papers.value("SELECT count(*) FROM pgblend_data.embedding_queue") == 0


def test_rows_come_and_go_with_their_readers(papers: Database, roles: dict[str, str]) -> None:
    """By each kind of statement, and by filling the table anew."""
    hidden = "SELECT count(*) FROM documents WHERE source_key LIKE 'new%'"
    insert = "INSERT INTO house SELECT 'new' || n, '', 'A xenon lamp.', '{}', %s"
    written(papers, insert + " FROM generate_series(1, 3) AS n", ["hr"])
    counts = []
    for change in (
        "SELECT",
        "UPDATE house SET name = 'newer' WHERE name = 'new1'",
        "DELETE FROM house WHERE name = 'new2'",
    ):
        written(papers, change)
        with acting(papers, roles["stranger"]):
            assert papers.value(hidden) == 0
        counts.append(papers.value(hidden))
    papers.rows("SELECT fill_table('house', 2, true)")
    while papers.value("SELECT fill_table('house', 2)"):
        pass
    with acting(papers, roles["stranger"]):
        assert papers.value(hidden) == 0
        assert papers.value("SELECT count(*) FROM lexical_search('xenon')") == 0
    counts.append(papers.value(hidden))
    papers.rows("TRUNCATE house")
    assert [*counts, papers.value("SELECT count(*) FROM documents")] == [3, 3, 2, 2, 0]
    papers.rows("SELECT detach_table('house')")
    assert papers.rows("SELECT name FROM collections") == []


def test_foreign_keys_and_tenants_hold_between_readers(
    papers: Database, roles: dict[str, str]
) -> None:
    """An edge shows to who sees both rows; who reads a row of another tenant does not find it."""
    papers.rows("CREATE TABLE public.note (id integer PRIMARY KEY, about text REFERENCES house,"
                " shop text, readers text)")  # fmt: skip
    papers.rows("INSERT INTO note VALUES (1, 'salary.md', 'a', NULL), (2, 'salary.md', 'b', 'hr')")
    papers.rows("SELECT attach_table('note', '{shop}', 'about', tenant_column => 'shop',"
                " rights_column => 'readers')")  # fmt: skip
    stranger = roles["stranger"]
    papers.rows("SELECT grant_collection('note', %s)", stranger)
    signed = papers.value("SELECT sign_groups('{hr}', %s)", stranger)
    edges = "SELECT count(*) FROM edges"
    found = "SELECT source_key FROM lexical_search('salary.md', options => '{\"tenant\": \"a\"}',"
    found += " collections => '{note}')"
    counts = []
    for change in ("SELECT", "UPDATE house SET readers = '{hr}'", "UPDATE note SET readers = NULL"):
        papers.rows(change)
        for groups in ("", signed):
            with acting(papers, stranger, groups):
                counts.append(papers.value(edges))
                assert papers.column(found) == ["1"]
    assert counts == [1, 2, 0, 2, 0, 2]


def test_wrong_readers_of_a_row_store_nothing(papers: Database) -> None:
    """Nor is the column forgotten when the table is attached again, or passed by."""
    for readers in ([" "], [None], ["x" * 64]):
        error = papers.error("UPDATE house SET readers = %s", readers)
        assert (error.sqlstate, error.message_primary[:10]) == ("22023", "reader is ")
    calls = {
        "grant_document('house', 'salary.md', 'hr')": "55000",
        "set_document_readers('house', 'salary.md', NULL)": "55000",
        "attach_table('house', '{body}')": "55000",
        ATTACHED.replace("'readers'", "'level'"): "22023",
        ATTACHED.replace("'readers'", "'nobody'"): "22023",
    }
    for call, state in calls.items():
        error = papers.error(f"SELECT {call}")
        assert (error.sqlstate, bool(error.message_hint)) == (state, True), call
    beside = "'readers', embedding_column => 'body', embedding_model => 'm'"
    error = papers.error("SELECT " + ATTACHED.replace("'readers'", beside))
    assert str(error.message_primary).startswith("rights_column stands beside embedding_column")
    assert papers.value("SELECT rows_filled FROM " + ATTACHED) == len(PAGES)


def test_a_table_without_rights_has_no_readers(db: Database) -> None:
    """It is refused, where its rows would else be there for all after the next change."""
    db.rows("CREATE TABLE public.paid (id integer PRIMARY KEY, body text)")
    db.rows("INSERT INTO public.paid VALUES (1, 'zirconium')")
    db.rows("SELECT attach_table('public.paid', '{body}', collection => 'paid')")
    error = db.error("SELECT grant_document('paid', '1', 'hr')")
    assert error.sqlstate == "0A000"


def test_row_security_that_does_not_come_along_is_told(db: Database) -> None:
    db.rows("CREATE TABLE public.paid (id integer PRIMARY KEY, body text, readers text[])")
    db.rows("ALTER TABLE public.paid ENABLE ROW LEVEL SECURITY")
    attach = "SELECT attach_table('public.paid', '{body}', collection => 'paid'%s)"
    db.warnings()
    db.rows(attach % ", rights_column => 'readers'")
    assert db.warnings() == []
    db.rows(attach % "")
    (told,) = db.warnings()
    assert told.startswith('row security of paid does not come along: whoever may read "paid"')


def test_a_column_says_what_policies_say(db: Database, roles: dict[str, str]) -> None:
    """Searches find the rows that the table's own policy shows, for each role and its teams."""
    db.rows(
        "CREATE TABLE public.deal (id integer PRIMARY KEY, body text, owner text, team text,"
        " readers text[] GENERATED ALWAYS AS"
        " (array_remove(ARRAY[owner, 'group:' || team], NULL)) STORED);"
        " ALTER TABLE deal ENABLE ROW LEVEL SECURITY;"
        " CREATE POLICY own_or_team ON deal USING (owner = current_user"
        " OR team = ANY(string_to_array(current_setting('app.teams', true), ',')));"
        " GRANT SELECT ON deal TO PUBLIC"
    )
    owners = [roles["stranger"], roles["member"], None]
    rows = [(owner, team) for owner in owners for team in ("north", "south", None)]
    db.connection.cursor().executemany(
        "INSERT INTO deal VALUES (%s, %s, %s, %s)",
        [(number, f"The zirconium lease {number}.", *row) for number, row in enumerate(rows)],
    )
    db.rows("SELECT attach_table('deal', '{body}', rights_column => 'readers')")
    for change in ("SELECT", "UPDATE deal SET owner = NULL, team = 'north' WHERE id IN (1, 4)"):
        db.rows(change)
        counts = set()
        for role in (roles["stranger"], roles["member"]):
            db.rows("SELECT grant_collection('deal', %s)", role)
            for teams in ([], ["south"], ["north", "south"]):
                signed = db.value("SELECT sign_groups(%s, %s)", teams, role)
                db.rows("SELECT set_config('app.teams', %s, true)", ",".join(teams))
                with acting(db, role, signed):
                    shown = set(db.column("SELECT id::text FROM deal"))
                    found = db.column("SELECT source_key FROM lexical_search('zirconium', 20)")
                assert (set(found), len(found)) == (shown, len(shown)), (role, teams)
                counts.add(len(shown))
        assert len(counts) > 1


def test_the_digest_of_readers_is_nobody_s_to_try(house: Database, roles: dict[str, str]) -> None:
    """Who reads a document cannot find out by trying names who else does."""
    house.rows("SELECT set_document_readers('house', 'salary.md', ARRAY['group:hr'])")
    digest = house.value(
        "SELECT readers_digest FROM pgblend_data.collection WHERE readers_digest IS NOT NULL"
    )
    plain = house.value("""SELECT encode(sha256(convert_to('["group:hr"]', 'UTF8')), 'hex')""")
    assert digest != plain
    house.rows("SELECT set_document_readers('house', 'salary.md', NULL)")
    house.rows("SELECT set_document_readers('house', 'salary.md', ARRAY['group:hr'])")
    again = "SELECT count(*) FROM pgblend_data.collection WHERE readers_digest = %s"
    assert house.value(again, digest) == 1
