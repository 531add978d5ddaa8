"""What a session keeps of the lexical index, by the bytes of its arrays."""

import json
from typing import Any

import pytest

from support.database import Database, add_documents

pytestmark = pytest.mark.slow  # thousands of passages
PASSAGES = 1500
# Every array that the view read last holds, wherever it hangs, each counted once.
HELD = """
CREATE FUNCTION pg_temp.held() RETURNS jsonb LANGUAGE plpython3u AS $$
import json
import numpy as np

def arrays(value):
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from arrays(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from arrays(one)
    elif hasattr(value, "__slots__"):
        for name in value.__slots__:
            yield from arrays(getattr(value, name))

def size(value):
    different = {id(array): array for array in arrays(value)}
    return sum(one.nbytes for one in different.values() if 0 not in one.strides)

*_, (_, view) = GD["pgblend_lexical"]["cache"].views.values()
return json.dumps({
    "n": len(view.rows),
    "terms": sum(len(terms) for terms, _ in view.directories),
    "rows": size(view.rows),
    "directories": size(view.directories),
    "postings": size([view.postings, view.impacts]),
    "told_of_postings": view.posting_bytes,
    "all": size(view),
    "told": view.held_bytes(),
})
$$
"""


@pytest.fixture
def sealed(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    texts = [f"passage number{n} of word{n % 7}" for n in range(PASSAGES)]
    add_documents(db, "c", [(f"d{n}", "", text) for n, text in enumerate(texts)])
    db.rows("SELECT lexical_seal()")
    db.rows(HELD)
    return db


def search(db: Database, query: str, **options: Any) -> None:
    found = db.rows("SELECT * FROM lexical_search(%s, options => %s)", query, json.dumps(options))
    assert found


def held(db: Database) -> dict[str, int]:
    return db.value("SELECT pg_temp.held()")  # type: ignore[return-value]


def test_a_row_and_a_term_take_few_bytes(sealed: Database) -> None:
    search(sealed, "passage word3")
    of = held(sealed)
    assert of["n"] == PASSAGES
    assert of["rows"] <= 2 * of["n"] + 200  # ids as they came, a length, no second length
    assert of["directories"] <= 12 * of["terms"] + 100
    rest = of["all"] - of["rows"] - of["directories"] - of["postings"]
    assert rest <= 4 * of["n"] + 1000  # a sum for each row
    assert of["postings"] <= 9 * (PASSAGES + PASSAGES // 7 + 1)
    assert 0 <= of["told_of_postings"] - of["postings"] <= 2000


def test_deleted_rows_and_documents_take_more(sealed: Database) -> None:
    search(sealed, "passage")
    before = held(sealed)
    sealed.rows("SELECT delete_document('c', 'd7')")
    search(sealed, "passage")
    search(sealed, "passage", level="document")
    assert sealed.rows("SELECT * FROM fuzzy_search('pasage')")
    of = held(sealed)
    # Whether it is alive (1), a document's id (8) and place (4); a bit of the words that are known.
    most = before["all"] + 13 * of["n"] + 8 * of["terms"] + 1000
    assert before["all"] < of["all"] <= most
    assert 0 <= of["all"] - of["told"] - of["postings"] <= 1000  # what is told is what is held


def test_postings_are_kept_up_to_a_limit(sealed: Database) -> None:
    sealed.rows("SELECT set_setting('limits', %s)", json.dumps({"lexical_cache_bytes": 20_000}))
    for word in range(7):
        search(sealed, f"passage word{word}")
        assert held(sealed)["told_of_postings"] <= 20_000
    assert held(sealed)["told_of_postings"] > 14_000


KEEP_TERMS = """
DO $$
from pgblend.plpy.lexical import index
index.MOST_TERMS = {most}
GD["pgblend_lexical"].clear()
$$ LANGUAGE plpython3u
"""


def test_parts_of_directories_find_the_same(sealed: Database) -> None:
    def found() -> list[Any]:
        words = ("word3", "number77 word0", "pasage word3 nubmer78", "=", "nowhere number999")
        calls = [(name, word) for name in ("lexical", "fuzzy") for word in words]
        return [
            sealed.rows(f"SELECT to_jsonb(r) - 'details' FROM {name}_search(%s, 50) AS r", word)
            for name, word in calls
        ]

    whole, before = found(), held(sealed)
    sealed.rows(KEEP_TERMS.format(most=0))
    try:
        assert found() == whole
        assert held(sealed)["directories"] <= before["directories"] // 100
    finally:
        sealed.rows(KEEP_TERMS.format(most=400_000))
