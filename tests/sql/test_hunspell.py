"""Languages without a stemmer, by real Hunspell dictionaries where the server has them."""

import pytest

from support.database import Database

# Language, dictionary, a text, queries in other inflections.
LANGUAGES = [
    ("polish", "pl_pl", "Wysłaliśmy faktury do klientów.", ["faktura", "fakturami", "klienta"]),
    ("czech", "cs_cz", "Poslali jsme faktury zákazníkům.", ["faktura", "zákazníka"]),
    ("ukrainian", "uk_ua", "Ми надіслали рахунки клієнтам.", ["рахунок", "рахунками", "клієнта"]),
    ("bulgarian", "bg_bg", "Изпратихме фактурите.", ["фактура", "фактури"]),
    ("croatian", "hr_hr", "Poslali smo račune kupcima.", ["račun", "računima"]),
    ("slovak", "sk_sk", "Poslali sme faktúry zákazníkom.", ["faktúra", "zákazníka"]),
    ("slovene", "sl_si", "Poslali smo račune strankam.", ["račun", "računih"]),
]
FILES = """
    SELECT count(*) FROM pg_ls_dir((
        SELECT setting || '/tsearch_data' FROM pg_config WHERE name = 'SHAREDIR')) AS f
    WHERE f = %s
"""


@pytest.mark.parametrize(("language", "dictionary", "text", "queries"), LANGUAGES)
def test_inflections_are_found(
    db: Database, language: str, dictionary: str, text: str, queries: list[str]
) -> None:
    if not db.value(FILES, f"{dictionary}.dict"):
        pytest.skip(f"the Hunspell dictionary {dictionary} is not installed")
    create = "SELECT create_hunspell_config(%s, %s)"
    assert db.value(create, language, dictionary) == language
    assert db.value(create, language, dictionary) == language
    db.rows("SELECT add_collection('c', %s)", language)
    db.rows("SELECT ingest_document('c', 'k', %s)", text)
    search = "SELECT source_key FROM lexical_search(%s)"
    found = {query: db.column(search, query) for query in queries}
    assert list(found.values()) == [["k"]] * len(queries)
    # A word that no dictionary has is found as it is written.
    db.rows("SELECT ingest_document('c', 'other', 'Qwertzophon 9000')")
    assert db.column("SELECT source_key FROM lexical_search('qwertzophon')") == ["other"]


def test_a_dictionary_that_is_not_there(db: Database) -> None:
    error = db.error("SELECT create_hunspell_config('klingon', 'tlh_qo')")
    assert error.sqlstate == "F0000"
    assert '"tlh_qo" cannot be read' in (error.message_primary or "")
    assert "apt install hunspell-" in (error.message_hint or "")


@pytest.mark.parametrize("given", [("pl; drop", "pl_pl"), ("polish", "../x"), ("polish", None)])
def test_names_that_cannot_be(db: Database, given: tuple[str | None, str | None]) -> None:
    assert db.error("SELECT create_hunspell_config(%s, %s)", *given).sqlstate == "22023"
