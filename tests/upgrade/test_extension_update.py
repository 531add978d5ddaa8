"""ALTER EXTENSION pgblend UPDATE equals an upgrade.

A copy of the source tree is released, changed in all ways that a release may change, and built: by
its own commands.
"""

import shutil

import pytest

from pgblend.migrations import runner
from support.catalogue import schema
from support.database import Database
from support.extension_server import MEMBERS, Place, install, set_free
from support.planted import PLANTED, ROLE, planter
from support.release_tree import FORMER, NEXT, Tree

HEAD = """-- {name}: {name} of the {release} release.
CREATE OR REPLACE FUNCTION pgblend.{name}({arguments})
RETURNS bigint
LANGUAGE sql
STABLE PARALLEL SAFE
"""
PARSED = "BEGIN ATOMIC\n    SELECT count(*) FROM pgblend_data.collection;\nEND;\n"
PLAIN = "BEGIN ATOMIC\n    SELECT {n}::bigint;\nEND;\n"
# Of the older release, then of the newer: what goes, what stays, what is another in each way.
ROUTINES = {
    "_goes": (HEAD + PLAIN.format(n=1), None),
    "_goes_too": (HEAD + PARSED, None),
    "_becomes_bound": (HEAD + PLAIN.format(n=1), HEAD + PARSED),
    "_becomes_own": (HEAD + PARSED, HEAD + PLAIN.format(n=2)),
    "_takes_more": (HEAD + PLAIN.format(n=1), HEAD.replace("{arguments}", "n int") + PARSED),
    "_comes": (None, HEAD + PLAIN.format(n=3)),
}
GRANTED = "GRANT EXECUTE ON FUNCTION\npgblend._becomes_own\nTO pgblend_reader;\n"
VIEW = """-- _seen: what is seen.
CREATE OR REPLACE VIEW pgblend._seen AS
SELECT
    c.name{more}
FROM pgblend_data.collection AS c;
"""
TABLES = """
ALTER TABLE pgblend_data.collection ADD COLUMN shelf text;
CREATE TABLE pgblend_data.shelf (
    id bigint GENERATED ALWAYS AS IDENTITY,
    row pgblend_data.shelf_row,
    CONSTRAINT shelf_pkey PRIMARY KEY (id)
);
UPDATE pgblend_data.collection SET shelf = 'upper';
"""
TYPES = "CREATE TYPE pgblend_data.shelf_row AS (number integer);"
KEPT = "SELECT name, shelf FROM pgblend_data.collection"


def routines(tree: Tree, release: int) -> None:
    """Have the routines of the older release or of the newer."""
    stage = tree.package / "sql" / "97_test"
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir()
    for name, texts in ROUTINES.items():
        text = texts[release]
        if text:
            text = text.replace("{arguments}", "").replace("{release}", str(release))
            (stage / f"{name}.sql").write_text(text.replace("{name}", name))
    more = ",\n    c.shelf" if release else ""
    (stage / "_seen.sql").write_text(VIEW.replace("{more}", more))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, place: Place) -> Tree:
    """Two releases, whose extensions the server has."""
    tree = Tree(tmp_path_factory.mktemp("tree"))
    access = tree.package / "sql" / "99_access" / "access.sql"
    access.write_text(access.read_text() + GRANTED)
    routines(tree, 0)
    tree.release()
    tree.revise()
    routines(tree, 1)
    (tree.versions / f"{tree.newest}_tables.sql").write_text(TABLES)
    (tree.versions / f"{tree.newest}_types.sql").write_text(TYPES)
    built = tree.root / "extension"
    tree.run("migrate", "extension", str(built))
    place.install(built)
    return tree


@pytest.mark.slow
@pytest.mark.parametrize("version", [*runner.released_versions().values(), FORMER])
def test_it_makes_what_a_new_database_has(
    bare: Database, place: Place, tree: Tree, version: str
) -> None:
    install(bare, f"VERSION '{version}'")
    bare.rows("SELECT add_collection('kept')")
    bare.rows("SELECT ingest_document('kept', 'k', 'some words')")
    bare.rows("ALTER EXTENSION pgblend UPDATE")
    assert bare.rows(KEPT) == [("kept", "upper")]
    bare.rows("SELECT ingest_document('kept', 'l', 'more words')")
    assert set(bare.column("SELECT source_key FROM hybrid_search('words')")) == {"k", "l"}
    with place.database() as new, place.database() as migrated:
        install(new)
        assert bare.column(MEMBERS) == new.column(MEMBERS)
        # With rights: those that are the extension's own are in no dump.
        assert schema(bare.url) == schema(new.url)
        tree.run("--database-url", migrated.url, "migrate", "up")
        updated = set_free(bare)
        assert updated == set_free(new)
        assert updated == schema(migrated.url)


@pytest.mark.slow
def test_an_older_version_is_told_what_updates_it(bare: Database, tree: Tree) -> None:
    install(bare, f"VERSION '{FORMER}'")
    update = "ALTER EXTENSION pgblend UPDATE"
    for command, code in (("search x", 3), ("doctor", 1)):
        said = tree.run("--database-url", bare.url, *command.split(), code=code)
        assert update in said
        assert "migrate up" not in said


@pytest.mark.slow
def test_a_dump_of_the_older_version_is_restored_into_it(bare: Database, tree: Tree) -> None:
    install(bare, f"VERSION '{FORMER}'")
    former = f"{int(tree.newest) - 1:04d}"
    bare.rows("UPDATE pgblend_data.alembic_version SET version_num = '0000'")
    said = bare.error("SELECT blend.install()")
    assert f"of revision 0000, the extension's are of {former}" in str(said.message_primary)
    assert "CREATE EXTENSION pgblend VERSION" in str(said.message_hint)
    said = bare.error("ALTER EXTENSION pgblend UPDATE")
    assert f"version {FORMER} makes those of {former}" in str(said.message_primary)


@pytest.mark.slow
def test_without_tables_there_is_nothing_to_update(bare: Database, tree: Tree) -> None:
    bare.rows(f"CREATE EXTENSION pgblend VERSION '{FORMER}' CASCADE")
    said = bare.error("ALTER EXTENSION pgblend UPDATE")
    assert said.message_primary == "this database has the extension pgblend, and no tables of it"
    assert "DROP EXTENSION pgblend" in str(said.message_hint)


@pytest.mark.slow
def test_an_update_runs_nothing_that_lesser_roles_planted(
    bare: Database, place: Place, tree: Tree
) -> None:
    install(bare, f"VERSION '{FORMER}'")
    with planter(place.url(bare.connection.info.dbname)) as plant:
        plant(PLANTED["format(text,text)"])
        said = bare.error("ALTER EXTENSION pgblend UPDATE")
        assert said.sqlstate == "42501"
        assert f"public.format(text,text) of {ROLE}" in str(said.message_primary)
        # Refused before a revision changed tables, not by what follows.
        assert "install()" not in str(said.context)
    bare.rows("ALTER EXTENSION pgblend UPDATE")


@pytest.mark.slow
def test_a_revision_after_a_release_needs_a_version_of_its_own(tree: Tree) -> None:
    tree.version(FORMER)
    try:
        said = tree.run("migrate", "extension", str(tree.root / "not"), code=1)
    finally:
        tree.version(NEXT)
    assert f"version {FORMER} is released, and revision {tree.newest} is not of it" in said
