import pytest

from support.database import Database


@pytest.fixture
def unaccent(db: Database) -> Database:
    available = "SELECT count(*) FROM pg_available_extensions WHERE name = 'unaccent'"
    if not db.value(available):
        pytest.skip("the extension unaccent is not available")
    db.rows("CREATE EXTENSION unaccent SCHEMA public")
    return db


def test_accents_are_optional(unaccent: Database) -> None:
    assert unaccent.value("SELECT create_unaccent_config('french')") == "french_unaccent"
    assert unaccent.value("SELECT create_unaccent_config('french')") == "french_unaccent"
    unaccent.rows("SELECT add_collection('c', 'french_unaccent')")
    unaccent.rows("SELECT ingest_document('c', 'k', 'Les élèves mangent')")
    for query in ("eleve", "élève", "ÉLÈVES"):
        assert unaccent.column("SELECT source_key FROM lexical_search(%s)", query) == ["k"]


def test_without_the_extension(db: Database) -> None:
    error = db.error("SELECT create_unaccent_config('french')")
    assert (error.sqlstate, error.message_primary) == (
        "0A000",
        "the extension unaccent is not installed",
    )


def test_an_unknown_base(db: Database) -> None:
    assert db.error("SELECT create_unaccent_config('klingon')").sqlstate == "22023"
