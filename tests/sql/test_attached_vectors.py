"""Attached tables whose rows have vectors: taken over without a model, followed, and told."""

import psycopg
import pytest

from support.database import Database, add_documents, add_space, embed_waiting, vector_of
from support.model_provider import DEFAULT_DIMENSIONS, Behaviour, ModelProvider

MODEL = "openai/text-embedding-3-small"
ATTACH = f"""
    SELECT * FROM attach_table('public.articles', text_columns => '{{body}}',
        embedding_column => 'embedding', embedding_model => '{MODEL}')
"""
SPACE = "text_embedding_3_small"


def make_table(db: Database, column: str = "vector(3)") -> None:
    db.rows(f"CREATE TABLE public.articles (id int PRIMARY KEY, body text, embedding {column})")
    db.rows(
        "INSERT INTO articles VALUES (1, 'The walrus swims.', '[1,0,0]'),"
        " (2, 'The zebra walks.', '[0,1,0]'), (3, 'Owls fly.', '[0,0,1]')"
    )


def stored(db: Database, space: str = SPACE) -> dict[str, str]:
    """The vector of each row's passage, by the row's key."""
    return dict(
        db.rows(
            "SELECT d.source_key, e.embedding::text FROM documents AS d"
            f" INNER JOIN pgblend_data.embedding_{space} AS e USING (document_id)"
            " WHERE e.chunk_index = 0 ORDER BY 1"
        )
    )


def nearest(db: Database, vector: str) -> str:
    query = "SELECT source_key FROM vector_search(NULL, 1, '{articles}', query_embedding => %s)"
    return str(db.value(query, vector))


def told(db: Database) -> list[str]:
    found = [str(message) for _, message in db.notices]
    db.notices.clear()
    return found


@pytest.mark.parametrize("column", ["vector(3)", "halfvec(3)"])
def test_vectors_follow_their_rows_in_the_same_transaction(db: Database, column: str) -> None:
    make_table(db, column)
    assert db.rows(ATTACH) == [("articles", 3, True)]
    assert stored(db) == {"1": "[1,0,0]", "2": "[0,1,0]", "3": "[0,0,1]"}
    assert (nearest(db, "[0,3,1]"), nearest(db, "[0,1,3]")) == ("2", "3")
    with db.connection.transaction(force_rollback=True):
        db.rows("UPDATE articles SET embedding = '[0,1,1]'")
        assert {*stored(db).values()} == {"[0,1,1]"}
    db.rows("UPDATE articles SET embedding = '[5,5,0]' WHERE id = 1")
    db.rows("UPDATE articles SET body = 'A gnu.', embedding = '[0,2,2]' WHERE id = 2")
    db.rows("DELETE FROM articles WHERE id = 3")
    db.rows("INSERT INTO articles VALUES (4, 'An ibex.', '[0,0,4]')")
    assert stored(db) == {"1": "[5,5,0]", "2": "[0,2,2]", "4": "[0,0,4]"}
    assert db.value("SELECT count(*) FROM pgblend_data.embedding_queue") == 0
    assert db.rows("SELECT vectors, waiting, missing FROM count_vectors()") == [(3, 0, 0)]
    assert db.rows("SELECT * FROM check_attached_tables()") == []
    space = "SELECT name, model, dimensions, active FROM embedding_spaces"
    assert db.rows(space) == [(SPACE, MODEL, 3, True)]
    db.rows("TRUNCATE articles")
    assert stored(db) == {}


def test_a_change_of_other_columns_writes_no_vector(db: Database) -> None:
    make_table(db)
    db.rows("ALTER TABLE articles ADD COLUMN views int")
    db.rows(ATTACH)
    written = (
        f"SELECT max(xmin::text::bigint), max(cmin::text::int) FROM pgblend_data.embedding_{SPACE}"
    )
    before = db.rows(written)
    db.rows("UPDATE articles SET views = 3")
    db.rows("UPDATE articles SET embedding = embedding")
    db.rows("SELECT fill_table('articles', 500, true)")
    assert db.rows(written) == before


def test_partitions_are_followed(db: Database) -> None:
    db.rows("CREATE TABLE public.articles (id int PRIMARY KEY, body text, embedding vector(3))"
            " PARTITION BY RANGE (id)")  # fmt: skip
    db.rows("CREATE TABLE low PARTITION OF articles FOR VALUES FROM (0) TO (10)")
    db.rows("CREATE TABLE high PARTITION OF articles FOR VALUES FROM (10) TO (20)")
    db.rows("INSERT INTO articles VALUES (1, 'low', '[1,0,0]'), (11, 'high', '[0,1,0]')")
    db.rows(ATTACH)
    db.rows("UPDATE low SET embedding = '[2,2,2]'")
    db.rows("UPDATE articles SET id = 12, embedding = '[0,7,0]' WHERE id = 11")
    db.rows("INSERT INTO high VALUES (13, 'new', '[0,0,9]')")
    assert stored(db) == {"1": "[2,2,2]", "12": "[0,7,0]", "13": "[0,0,9]"}


def test_rows_without_a_usable_vector_are_told(db: Database) -> None:
    db.rows("SELECT create_embedding_space('own', %s, 3, probe => false)", MODEL)
    make_table(db, "vector")
    db.rows("INSERT INTO articles VALUES (4, 'A', NULL), (5, 'B', '[0,0,0]'), (6, 'C', '[1,2]')")
    db.rows(ATTACH)
    warnings = db.warnings()
    assert "were not compared with those of the model" in warnings.pop()
    for part in (
        "3 of 6 rows of articles have no vector",
        "that of row 4 is NULL",
        "that of row 5 is zero in all dimensions",
        "that of row 6 has 2 dimensions, not 3",
    ):
        assert [part in warning for warning in warnings] == [True], part
    counts = "SELECT rows, vectors, without_vector, long_rows FROM attached_vectors()"
    assert db.rows(counts) == [(6, 3, 3, 0)]
    db.rows("UPDATE articles SET embedding = '[4,4,4]' WHERE id = 4")
    db.rows("UPDATE articles SET embedding = NULL WHERE id = 1")  # that of then would be a lie
    assert stored(db, "own") == {"2": "[0,1,0]", "3": "[0,0,1]", "4": "[4,4,4]"}
    assert db.value("SELECT count(*) FROM pgblend_data.embedding_queue") == 0
    assert db.rows("SELECT missing FROM count_vectors()") == [(0,)]


@pytest.mark.parametrize("embedded", [False, True])
def test_rows_longer_than_a_passage_are_told_and_embedded_where_asked(
    db: Database, embedded: bool
) -> None:
    make_table(db)
    long_text = " ".join(f"Sentence number {n} tells of the sea." for n in range(400))
    db.rows("INSERT INTO articles VALUES (4, %s, '[0,3,4]')", long_text)
    told(db)
    db.rows(ATTACH.replace(")\n", ", embed_long_rows => %s)\n"), embedded)
    assert any("1 of 4 rows of articles are longer than a passage" in each for each in told(db))
    assert stored(db)["4"] == "[0,3,4]"
    chunks = db.value(
        "SELECT max(n.count) FROM (SELECT count(*) FROM chunks GROUP BY document_id) AS n"
    )
    waiting = db.value("SELECT count(*) FROM pgblend_data.embedding_queue")
    assert waiting == (chunks - 1 if embedded else 0)
    assert db.row("SELECT waiting, missing FROM count_vectors()") == (waiting, 0)
    if embedded:
        assert embed_waiting(db, SPACE, 3) == chunks - 1
        assert db.row("SELECT vectors, waiting FROM count_vectors()") == (chunks + 3, 0)
        assert stored(db)["4"] == "[0,3,4]"
    else:  # and asked for later
        db.rows(ATTACH.replace(")\n", ", embed_long_rows => true)\n"))
        assert db.row("SELECT waiting, missing FROM count_vectors()") == (chunks - 1, 0)


def test_beside_other_vectors(db: Database) -> None:
    """Another space stays that of all searches, and neither takes the other's passages."""
    db.rows("SELECT add_collection('c')")
    add_space(db)
    add_documents(db, "c", [("k", "", "a document")])
    make_table(db)
    told(db)
    db.rows(ATTACH)
    assert any("searches use another embedding space" in each for each in told(db))
    add_documents(db, "c", [("l", "", "a later document")])
    counts = "SELECT name, vectors, waiting, missing FROM count_vectors()"
    assert db.rows(counts) == [("test_space", 0, 2, 0), (SPACE, 3, 0, 0)]
    assert nearest(db, "[0,0,1]") == "3"  # the collection alone is searched in its own space
    error = db.error("SELECT drop_embedding_space(%s)", SPACE)
    assert error.sqlstate == "55000"
    assert "attached table public.articles" in str(error.message_primary)
    db.rows("SELECT * FROM attach_table('public.articles', text_columns => '{body}')")
    assert db.rows(counts) == [("test_space", 0, 5, 0), (SPACE, 0, 0, 0)]
    assert db.value("SELECT settings FROM pgblend_data.collection WHERE name = 'articles'") == {}
    db.rows(ATTACH)
    assert db.rows(counts) == [("test_space", 0, 2, 0), (SPACE, 3, 0, 0)]
    assert db.value("SELECT detach_table('articles')") == 3
    assert db.rows(counts) == [("test_space", 0, 2, 0), (SPACE, 0, 0, 0)]
    assert db.value("SELECT drop_embedding_space(%s)", SPACE) is True


def test_switching_leaves_the_rows_their_space_and_says_so(db: Database) -> None:
    make_table(db)
    db.rows(ATTACH)
    db.rows("SELECT create_embedding_space('next', 'm', 2, active => false, probe => false)")
    assert db.rows("SELECT missing, waiting FROM count_vectors('next')") == [(0, 0)]
    db.warnings()
    assert db.value("SELECT switch_embedding_space('next')") == SPACE
    assert [f'"{SPACE}"' in warning for warning in db.warnings()] == [True]
    assert nearest(db, "[0,0,1]") == "3"
    assert db.value("SELECT switch_embedding_space(%s)", SPACE) == "next"
    assert db.warnings() == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("embedding_column => 'embedding'", "embedding_model is NULL"),
        ("embedding_model => 'm'", "embedding_column is NULL"),
        ("embed_long_rows => true", "embedding_column is NULL"),
        ("embedding_column => 'body', embedding_model => 'm'",
         "embedding column body is of type text: expected vector or halfvec"),
        ("embedding_column => 'numbers', embedding_model => 'm'", "of type real[]"),
        ("embedding_column => 'other', embedding_model => 'm'", "has no column other"),
        ("embedding_column => 'bare', embedding_model => 'm'", "says no dimensions"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_over(db: Database, arguments: str, problem: str) -> None:
    make_table(db)
    db.rows("ALTER TABLE articles ADD COLUMN numbers real[], ADD COLUMN bare vector")
    error = db.error(f"SELECT * FROM attach_table('articles', '{{body}}', {arguments})")
    assert problem in str(error.message_primary)
    assert db.rows("SELECT * FROM attached_tables") == []


# --- the model that queries are embedded by


def made_of_words(db: Database, texts: list[str]) -> None:
    db.rows(f"CREATE TABLE public.articles (id int PRIMARY KEY, body text,"
            f" embedding vector({DEFAULT_DIMENSIONS}))")  # fmt: skip
    for number, text in enumerate(texts):
        body = f"{('walrus', 'zebra', 'owl', 'gnu')[number % 4]} number {number} of the zoo"
        db.rows("INSERT INTO articles VALUES (%s, %s, %s)", number, body, vector_of(text or body))


def test_the_model_of_queries_is_compared_with_twenty_rows(
    gateway_connection: psycopg.Connection, model_provider: ModelProvider
) -> None:
    db = Database(gateway_connection)
    made_of_words(db, [""] * 25)
    attach = ATTACH.replace(MODEL, model_provider.model)
    db.rows(attach)
    inputs = [text for body in model_provider.bodies for text in body["input"]]
    assert len([text for text in inputs if "of the zoo" in text]) == 20
    found = db.row("SELECT compared, nearest, same_model FROM probe_attached_table('articles')")
    assert found == (20, 20, True)
    query = "SELECT source_key, degraded FROM vector_search('gnu number 7', 1)"
    assert db.rows(query) == [("7", [])]
    db.rows("SELECT detach_table('articles')")
    db.rows("UPDATE articles SET embedding = %s", vector_of("something else entirely"))
    error = db.error(attach)
    assert error.sqlstate == "22023"
    assert f'not of the model "{model_provider.model}": of 20 rows' in str(error.message_primary)
    assert db.rows("SELECT * FROM attached_tables") == []
    assert db.rows(attach.replace(")\n", ", probe => false)\n")) == [("articles", 25, True)]


def test_a_model_of_other_dimensions_is_named(
    gateway_connection: psycopg.Connection, model_provider: ModelProvider
) -> None:
    db = Database(gateway_connection)
    make_table(db)
    model_provider.behaviour = Behaviour(dimensions=384)
    error = db.error(ATTACH.replace(MODEL, model_provider.model))
    assert "dimensions, the column holds 3" in str(error.message_primary)


def test_without_a_gateway_it_says_that_nothing_was_compared(db: Database) -> None:
    make_table(db)
    told(db)
    db.rows(ATTACH)
    assert any("were not compared with those of the model" in each for each in told(db))
