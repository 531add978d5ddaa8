"""BM25 in the database is BM25: against bm25s, and whatever is sealed, pending or deleted."""

import hashlib
import math
import random
from typing import Any

import bm25s
import pytest

from support.database import Database
from support.program import loading
from support.word_lists import add_word_lists

LANGUAGES = ("english", "german", "simple")
TEXT = (
    "apple banana running runner house houses häuser über whisky 42 foo.bar state-of-the-art "
    "deploy production server wine cheese wind sea France Paris the and of"
)
WORDS = TEXT.split()
SEARCH = """
    SELECT chunk_id, (arms #>> '{lexical,score}')::float8
    FROM lexical_search(
        %s, 10000, options => '{"candidate_depth": 10000, "title_weight": 1, "dedup": "off"}')
"""
STATISTICS = """
    SELECT n, total_length, df FROM lexical_counts(ARRAY[%s::bigint], '{simple}', %s, false)
"""
QUERIES = ("apple", "houses of running wine", "deploy the server to production", "42 über Paris")


def texts(count: int, seed: int = 1) -> list[str]:
    """Return texts of very different lengths, with words that are common and rare."""
    chance = random.Random(seed)
    weights = [1 / place for place in range(1, len(WORDS) + 1)]
    return [
        " ".join(chance.choices(WORDS, weights, k=chance.choice([1, 3, 10, 60, 300])))
        for _ in range(count)
    ]


def ingest(db: Database, contents: list[str], first: int = 0, language: str = "english") -> None:
    for key, content in enumerate(contents, first):
        db.rows(
            "SELECT ingest_document('docs', %s, %s, title => %s, language => %s)",
            str(key),
            content,
            f"wine {key}",
            language,
        )


def seal(db: Database) -> None:
    db.rows("SELECT lexical_seal('docs')")


def results(db: Database) -> list[Any]:
    """Return rows and scores, to the bit, of all queries."""
    return [db.rows(SEARCH, query) for query in QUERIES]


def collection(db: Database) -> int:
    ((number,),) = db.rows("SELECT add_collection('docs')")
    return int(number)


def by_tsvectors(db: Database, number: int, lexemes: list[str]) -> tuple[Any, ...]:
    """Count what lexical_counts should say, from the tsvectors."""
    ((n, total),) = db.rows(
        "SELECT count(*), coalesce(sum((SELECT count(*) FROM unnest(c.lexemes) AS l"
        " CROSS JOIN unnest(l.weights) AS w (weight) WHERE w.weight <> 'C')), 0)::bigint"  # names
        " FROM pgblend_data.chunk AS c WHERE c.collection_id = %s",
        number,
    )
    df = [
        db.rows(
            "SELECT count(*) FROM pgblend_data.chunk"
            " WHERE collection_id = %s AND %s = ANY(tsvector_to_array(lexemes))",
            number,
            lexeme,
        )[0][0]
        for lexeme in lexemes
    ]
    return n, total, df


def test_scores_are_those_of_bm25s(db: Database) -> None:
    collection(db)
    ingest(db, texts(120))
    seal(db)
    rows = db.rows(
        "SELECT c.id, ARRAY(SELECT l.lexeme FROM unnest(c.lexemes) AS l,"
        " generate_series(1, cardinality(l.positions)) WHERE l.lexeme NOT LIKE '=%')"  # identifiers
        " FROM pgblend_data.chunk AS c"
    )
    keys = [key for key, _ in rows]
    model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    model.index([words for _, words in rows], show_progress=False)
    for query in QUERIES:
        ((lexemes,),) = db.rows("SELECT lexemes FROM pgblend._parse_query(%s, 'english')", query)
        scores = dict(zip(keys, model.get_scores(lexemes) * 2.2, strict=True))
        expected = {key: float(score) for key, score in scores.items() if score}
        assert dict(db.rows(SEARCH, query)) == pytest.approx(expected, abs=1e-4)


def test_sealed_or_not_the_same_rows_and_bits(db: Database) -> None:
    collection(db)
    contents = texts(90)
    for part, language in enumerate(LANGUAGES):
        ingest(db, contents[part::3], 30 * part, language)
    pending = results(db)
    assert all(pending)
    seal(db)
    assert results(db) == pending
    for key in range(0, 90, 4):
        db.rows("SELECT delete_document('docs', %s)", str(key))
    with_tombstones = results(db)
    seal(db)
    assert results(db) == with_tombstones
    ingest(db, texts(40, 2), 100, "german")
    mixed = results(db)
    seal(db)
    assert results(db) == mixed
    ingest(db, texts(10, 3), 200)
    mixed = results(db)
    db.rows("SELECT lexical_rebuild('docs')")
    assert results(db) == mixed


def test_statistics_follow_every_change(db: Database) -> None:
    number = collection(db)
    add_word_lists(db.connection)
    chance = random.Random(5)
    lexemes = ["appl", "apple", "hous", "wine", "nowhere", "42"]
    for step in range(40):
        language = chance.choice(LANGUAGES)
        match chance.randrange(4):
            case 0:
                seal(db)
            case 1:
                db.rows("SELECT delete_document('docs', %s)", str(chance.randrange(12)))
            case _:
                ingest(db, texts(3, step), chance.randrange(12), language)
        assert db.rows(STATISTICS, number, lexemes) == [by_tsvectors(db, number, lexemes)]


def test_languages_share_one_bm25(db: Database) -> None:
    number = collection(db)
    add_word_lists(db.connection)
    for key, language in enumerate(LANGUAGES):
        ingest(db, ["houses houses of wine", "sea"], 2 * key, language)
    scores = [score for _, score in db.rows(SEARCH, "houses")]
    ((n, total, df),) = db.rows(STATISTICS, number, ["hous", "houses"])
    assert (n, df) == (6, [2, 1])  # english and german have the stem, simple the word
    expected = []
    for length, count in ((5, 2), (6, 2), (6, 1)):  # of is a stop word in english
        like = n * (1 + 100 * count / n) / (2 + 100)  # 1 of the language's 2 chunks has it
        idf = math.log(1 + (n - like + 0.5) / (like + 0.5))
        expected.append(idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * length * n / total)))
    assert sorted(scores) == pytest.approx(sorted(expected))


PACK = """
CREATE FUNCTION pg_temp.pack_vector(
    vector bytea, own_position integer, OUT records bytea, OUT length integer,
    OUT own_length integer)
LANGUAGE plpython3u AS $python$
from pgblend.plpy.lexical.records import pack_lexemes, read_lexemes

return tuple(pack_lexemes(read_lexemes(vector), own_position, {}))
$python$;
"""


@pytest.mark.parametrize("own_position", [0, 1, 7, 16383])
def test_records_are_the_tsvectors_lexemes(db: Database, own_position: int) -> None:
    db.connection.execute(loading(PACK))
    for text in [*texts(10), "", "a" * 2000, "word " * 400, "Ümläut 漢字 emoji 😀 it's"]:
        vector, records, *lengths = db.row(
            "SELECT v::text, p.* FROM (SELECT"
            " setweight(to_tsvector('simple', 'title word'), 'A') ||"
            " setweight(to_tsvector('simple', 'head'), 'B') || to_tsvector('simple', %s)) AS x (v)"
            " CROSS JOIN LATERAL pg_temp.pack_vector(tsvectorsend(v), %s) AS p",
            text,
            own_position,
        )
        expected = db.rows(
            "SELECT l.lexeme, array_agg(c.count ORDER BY c.repeated, c.weight)"
            " FROM unnest(%s::tsvector) WITH ORDINALITY AS l"
            " CROSS JOIN LATERAL (SELECT r.repeated, f.weight,"
            "  (SELECT count(*) FROM unnest(l.positions, l.weights) AS o (position, weight)"
            "   WHERE o.weight = f.weight AND (o.position <= %s) = r.repeated)"
            "  FROM unnest('{false,true}'::boolean[]) AS r (repeated)"
            "  CROSS JOIN unnest('{A,B,D}'::text[]) AS f (weight)) AS c"
            " GROUP BY l.lexeme ORDER BY min(l.ordinality)",
            vector,
            own_position,
        )
        assert [records[start : start + 14] for start in range(0, len(records), 14)] == [
            hashlib.blake2b(lexeme.encode(), digest_size=8).digest() + bytes(counts)
            for lexeme, counts in expected
        ]
        own = sum(sum(counts[:3]) for _, counts in expected)
        assert lengths == [own + sum(sum(counts[3:]) for _, counts in expected), own]
