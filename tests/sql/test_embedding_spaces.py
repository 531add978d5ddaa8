import pytest

from pgblend.cli.base.database import connect
from support.database import Database, add_documents, add_space, embed_waiting, stage


@pytest.fixture(autouse=True)
def documents(request: pytest.FixtureRequest) -> None:
    db = request.getfixturevalue("committed" if "committed" in request.fixturenames else "db")
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", [(str(i), f"Title {i}", f"text {i}") for i in range(5)])


def chunk_ids(db: Database) -> list[int]:
    return db.column("SELECT chunk_id FROM chunks ORDER BY 1")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("NULL, 'm', 3", "space name is NULL"),
        ("'', 'm', 3", "space name is ''"),
        ("'Upper', 'm', 3", "lower-case letters"),
        ("'1st', 'm', 3", "lower-case letters"),
        ("'a-b', 'm', 3", "lower-case letters"),
        ("'x\"; DROP TABLE y; --', 'm', 3", "lower-case letters"),
        ("repeat('a', 33), 'm', 3", "at most 32"),
        ("'queue', 'm', 3", "space name is 'queue'"),
        ("'space', 'm', 3", "space name is 'space'"),
        ("'s', NULL, 3", "model is empty"),
        ("'s', ' ', 3", "model is empty"),
        ("'s', 'm', NULL, probe => false", "dimensions is NULL: expected a number"),
        ("'s', 'm', 0", "dimensions is 0: expected 1 to 16000 for storage auto"),
        ("'s', 'm', 16001", "dimensions is 16001: expected 1 to 16000 for storage auto"),
        ("'s', 'm', 0, 'vector'", "dimensions is 0: expected 1 to 2000"),
        ("'s', 'm', 2001, 'vector'", "dimensions is 2001: expected 1 to 2000"),
        ("'s', 'm', 4001, 'halfvec'", "expected 1 to 4000 for storage halfvec"),
        ("'s', 'm', 16001, 'binary'", "expected 1 to 16000 for storage binary"),
        ("'s', 'm', 3, 'bit'", "storage is 'bit': expected auto, vector, halfvec or binary"),
        ("'s', 'm', 3, NULL", "storage is NULL"),
    ],
)
def test_wrong_arguments(db: Database, arguments: str, part: str) -> None:
    error = db.error(f"SELECT create_embedding_space({arguments})")
    assert error.sqlstate == "22023"
    assert part in str(error.message_primary)
    assert error.message_hint
    assert db.rows("SELECT * FROM embedding_spaces") == []


def test_a_name_is_used_once(db: Database) -> None:
    add_space(db, "s", 3)
    assert (
        db.error("SELECT create_embedding_space('s', 'm', 3, probe => false)").sqlstate == "42710"
    )


@pytest.mark.parametrize("storage", ["vector", "halfvec", "binary"])
def test_an_index_is_dropped_and_made_anew(db: Database, storage: str) -> None:
    db.rows("SELECT create_embedding_space('s', 'm', 3, %s, probe => false)", storage)
    of_table = "SELECT indexdef FROM pg_indexes WHERE tablename = 'embedding_s' ORDER BY indexdef"
    made = db.column(of_table)
    assert not db.value("SELECT index_embedding_space('s', NULL)")
    assert db.value("SELECT index_embedding_space('s', false)")
    assert not db.value("SELECT index_embedding_space('s', false)")
    assert [one for one in made if "hnsw" not in one] == db.column(of_table)
    assert embed_waiting(db, "s", 3) == 5
    assert db.value("SELECT index_embedding_space('s')")
    assert db.column(of_table) == made
    assert db.error("SELECT index_embedding_space('other')").sqlstate == "22023"


@pytest.mark.parametrize(
    ("storage", "dimensions"), [("vector", 2000), ("halfvec", 4000), ("binary", 16000)]
)
def test_create_fill_drop(db: Database, storage: str, dimensions: int) -> None:
    name = "s" * 32
    query = "SELECT create_embedding_space(%s, 'm', %s, %s, probe => false)"
    assert db.value(query, name, dimensions, storage) == dimensions
    assert db.notices == []  # such as a name cut off
    columns = "name, model, dimensions, storage, active, waiting, table_name::text"
    expected = (name, "m", dimensions, storage, True, 5, f"embedding_{name}")
    assert db.row(f"SELECT {columns} FROM embedding_spaces") == expected
    assert embed_waiting(db, name, dimensions) == 5
    assert db.value("SELECT waiting FROM embedding_spaces") == 0
    outside = "SELECT pg_relation_size(reltoastrelid) > 0 FROM pg_class WHERE relname = %s"
    assert db.value(outside, f"embedding_{name}") is (dimensions > 4000)  # a page holds 4000 halves
    add_documents(db, "c", [("new", "", "text")])
    assert db.value("SELECT waiting FROM embedding_spaces") == 1
    assert db.error("SELECT drop_embedding_space(%s)", name).sqlstate == "55006"
    assert db.value("SELECT drop_embedding_space(%s, true)", name) is True
    assert db.value("SELECT drop_embedding_space(%s)", name) is False
    assert db.value("SELECT drop_embedding_space(NULL)") is False
    assert db.value("SELECT count(*) FROM pgblend_data.embedding_queue") == 0
    assert db.value("SELECT to_regclass(%s)", f"pgblend_data.embedding_{name}") is None


@pytest.mark.parametrize(
    ("dimensions", "storage"),
    [(2000, "vector"), (2001, "halfvec"), (4000, "halfvec"), (4001, "binary")],
)
def test_auto_has_room_for_the_dimensions(db: Database, dimensions: int, storage: str) -> None:
    db.rows("SELECT create_embedding_space('s', 'm', %s, probe => false)", dimensions)
    assert db.value("SELECT storage FROM embedding_spaces") == storage


def test_auto_is_what_the_memory_holds(db: Database) -> None:
    """Half of shared_buffers for vector, half of effective_cache_size for halfvec."""
    fits = "SELECT array_agg(storage) FROM pgblend._storages(%s, 384) WHERE fits"
    size = "SELECT index_bytes FROM pgblend._storages(1000000, 384) WHERE storage = %s"
    half = db.value("SELECT pg_size_bytes(current_setting('shared_buffers')) / 2")
    most = int(half / db.value(size, "vector") * 1_000_000)
    assert db.value(fits, most) == ["vector", "halfvec", "binary"]
    assert db.value(fits, most + 1) == ["halfvec", "binary"]
    most = int(2**29 / db.value(size, "halfvec") * 1_000_000)
    db.rows("SET LOCAL effective_cache_size = '1GB'")
    assert "halfvec" in db.value(fits, most)
    assert db.value(fits, most + 1) == ["binary"]
    # Five chunks of 2001 dimensions take more than 4 kB.
    db.rows("SET LOCAL effective_cache_size = '8kB'")
    db.rows("SELECT create_embedding_space('s', 'm', 2001, 'auto', probe => false)")
    assert db.value("SELECT storage FROM embedding_spaces") == "binary"


def test_a_new_space_takes_over(db: Database) -> None:
    add_space(db, "first", 3)
    db.rows("SELECT create_embedding_space('idle', 'm', 3, active => false, probe => false)")
    assert db.column("SELECT name FROM embedding_spaces WHERE active") == ["first"]
    db.rows("SELECT create_embedding_space('second', 'm', 3, active => NULL, probe => false)")
    assert db.column("SELECT name FROM embedding_spaces WHERE active") == ["second"]
    assert db.column("SELECT waiting FROM embedding_spaces") == [5, 5, 5]


def test_the_registry_names_embedding_tables_only(db: Database) -> None:
    add_space(db, "s", 3)
    error = db.error("UPDATE pgblend_data.embedding_space SET table_name = 'document'")
    assert error.sqlstate == "23514"
    assert db.error("UPDATE pgblend_data.embedding_space SET name = 'queue'").sqlstate == "23514"


def test_input_has_title_and_heading(db: Database) -> None:
    add_space(db, "s", 3)
    chunks = '[{"content": "body", "heading": "A > B"}]'
    db.rows("SELECT ingest_document('c', 'h', '', title => 'T', chunks => %s)", chunks)
    db.rows("SELECT ingest_document('c', 'p', 'plain')")
    db.rows("""SELECT add_collection('bare', settings => '{"embedding_prefix": "none"}')""")
    db.rows("SELECT ingest_document('bare', 'k', 'bare text', title => 'T')")
    inputs = db.column("SELECT input FROM pgblend._next_embeddings('s', 100)")
    assert inputs[0] == "title: Title 0 | text: text 0"
    assert inputs[5:] == ["title: T > A > B | text: body", "plain", "bare text"]


def test_batches(db: Database) -> None:
    add_space(db, "s", 3)
    query = "SELECT chunk_id FROM pgblend._next_embeddings(%s, %s)"
    assert db.column(query, "s", 2) == chunk_ids(db)[:2]
    assert db.column(query, "s", None) == chunk_ids(db)
    assert db.column(query, "s", 0) == []
    assert db.column(query, "nope", 2) == []
    assert db.column(query, None, 2) == []


def test_two_workers_take_different_chunks(committed: Database, database_url: str) -> None:
    add_space(committed, "s", 3)
    query = "SELECT chunk_id FROM pgblend._next_embeddings('s', 3)"
    with connect(database_url, autocommit=False) as one, connect(database_url) as two:
        first = Database(one).column(query)
        assert first == chunk_ids(committed)[:3]
        assert Database(two).column(query) == chunk_ids(committed)[3:]
        one.rollback()  # a worker that died
        assert Database(two).column(query) == first


def test_store(db: Database) -> None:
    add_space(db, "s", 3)
    first, second, third, *_ = chunk_ids(db)
    db.rows("SELECT delete_document('c', '1')")  # the second, meanwhile
    vector = [1.0, 2.0, 3.0]
    stage(db, [(first, vector), (second, vector), (third, vector), (third, vector), (-1, vector)])
    assert db.value("SELECT pgblend._store_embeddings('s')") == 2
    assert db.value("SELECT pgblend._store_embeddings('s')") == 0  # again: nothing new
    rows = db.rows("SELECT chunk_id, chunk_index, embedding::text FROM pgblend_data.embedding_s")
    assert rows == [(first, 0, "[1,2,3]"), (third, 0, "[1,2,3]")]
    assert db.value("SELECT waiting FROM embedding_spaces") == 2


@pytest.mark.parametrize(
    ("vector", "part"), [([1.0, 2.0], "a vector has 2 dimensions"), (None, "a vector has 0")]
)
def test_a_wrong_vector_stores_nothing(db: Database, vector, part: str) -> None:
    add_space(db, "s", 3)
    first, second, *_ = chunk_ids(db)
    stage(db, [(first, [1.0, 2.0, 3.0])])
    db.rows("INSERT INTO embedding_stage VALUES (%s, %s)", second, vector and str(vector))
    error = db.error("SELECT pgblend._store_embeddings('s')")
    assert error.sqlstate == "22023"
    assert part in str(error.message_primary)
    assert error.message_hint
    assert db.value("SELECT count(*) FROM pgblend_data.embedding_s") == 0
    assert db.value("SELECT waiting FROM embedding_spaces") == 5


def test_store_to_no_space(db: Database) -> None:
    stage(db, [])
    assert db.error("SELECT pgblend._store_embeddings('nope')").sqlstate == "22023"


def test_a_replaced_document_waits_again(db: Database) -> None:
    add_space(db)
    embed_waiting(db)
    db.rows("SELECT ingest_document('c', '0', 'new text')")
    assert db.value("SELECT waiting FROM embedding_spaces") == 1
    assert db.value("SELECT count(*) FROM pgblend_data.embedding_test_space") == 4
