import pytest

from support.database import Database, add_documents, add_space, embed_waiting, vector_of

DOCUMENTS = [
    ("deploy", "", "deploy to production with care"),
    ("care", "", "handle with care"),
    ("wine", "", "production of wine"),
    ("sea", "", "ships sail the sea"),
]


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", DOCUMENTS)
    add_space(db)
    embed_waiting(db)
    return db


def test_words_alone_answer_without_vectors(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", DOCUMENTS)
    rows = db.rows("SELECT rank, source_key, relevance, degraded FROM hybrid_search('deploy')")
    reason = "no embedding space yet. pgblend worker makes and fills one where a model gateway runs"
    assert rows == [(1, "deploy", None, [f"vector: {reason}"])]
    assert db.warnings() == [f"searching without the vector arm: {reason}"]


def test_scores_are_rrf_over_the_best_possible(library: Database) -> None:
    rows = library.rows(
        "SELECT source_key, score,"
        " (arms #>> '{lexical,rank}')::int, (arms #>> '{vector,rank}')::int"
        " FROM hybrid_search('deploy production', query_embedding => %s, options => %s)",
        vector_of("deploy production"),
        '{"fusion": "rrf", "weights": {"vector": 1}}',
    )
    assert {row[0] for row in rows} == {"deploy", "care", "wine", "sea"}
    assert rows[0] == ("deploy", 1.0, 1, 1)  # first in every arm
    for _, score, *ranks in rows:
        expected = sum(1 / (60 + rank) for rank in ranks if rank) / (2 / 61)
        assert score == pytest.approx(expected, rel=1e-14)
    scores = [row[1] for row in rows]
    assert scores == sorted(scores, reverse=True)


def test_weights_and_k(library: Database) -> None:
    rows = library.rows(
        "SELECT score, (arms #>> '{lexical,rank}')::int, (arms #>> '{vector,rank}')::int"
        " FROM hybrid_search('deploy production', query_embedding => %s, options => %s)",
        vector_of("deploy production"),
        '{"fusion": "rrf", "weights": {"vector": 3, "lexical": 0.5}, "rrf_k": 10}',
    )
    for score, lexical, vector in rows:
        total = (0.5 / (10 + lexical) if lexical else 0) + (3 / (10 + vector) if vector else 0)
        assert score == pytest.approx(total / (3.5 / 11), rel=1e-14)


@pytest.mark.parametrize(
    ("weights", "function", "arm"),
    [
        ('{"vector": 0}', "lexical_search", "lexical"),
        ('{"lexical": 0}', "vector_search", "vector"),
    ],
)
def test_one_arm_alone_gives_its_own_score(library, weights, function, arm) -> None:
    vector = vector_of("deploy production")
    columns = "source_key, score, arms"
    hybrid = library.rows(
        f"SELECT {columns}"
        " FROM hybrid_search('deploy production', options => %s, query_embedding => %s)",
        f'{{"weights": {weights}}}',
        vector,
    )
    arguments = {"lexical_search": [], "vector_search": [vector]}[function]
    more = ", query_embedding => %s" if arguments else ""
    alone = library.rows(f"SELECT {columns} FROM {function}('deploy production'{more})", *arguments)
    assert hybrid == alone
    assert all(row[2].keys() == {arm} for row in hybrid)


def test_weights_all_zero(library: Database) -> None:
    options = '{"weights": {"lexical": 0, "vector": 0}}'
    error = library.error("SELECT * FROM hybrid_search('x', options => %s)", options)
    assert error.sqlstate == "22023"
    assert error.message_hint


def test_relevance_is_the_exact_cosine_of_every_row(library: Database) -> None:
    rows = library.rows(
        "SELECT r.relevance, 1 - (e.embedding <=> %s), details ->> 'relevance_basis'"
        " FROM hybrid_search('deploy production', query_embedding => %s,"
        """ options => '{"candidate_depth": 2}') AS r"""
        " JOIN pgblend_data.embedding_test_space AS e USING (chunk_id)",
        vector_of("sea"),
        vector_of("sea"),
    )
    assert len(rows) >= 2
    for relevance, cosine, basis in rows:
        assert relevance == pytest.approx(cosine, abs=1e-9)
        assert basis == "cosine"


def test_without_a_gateway_the_words_answer(library: Database) -> None:
    rows = library.rows("SELECT source_key, degraded FROM hybrid_search('deploy')")
    assert rows[0][0] == "deploy"
    (note,) = rows[0][1]
    assert note.startswith("vector: no model gateway is set. Start one")
    assert library.warnings() == [note.replace("vector:", "searching without the vector arm:")]


def test_strict(library: Database) -> None:
    error = library.error(
        """SELECT * FROM hybrid_search('deploy', options => '{"strict": true}')"""
    )
    assert error.sqlstate == "PB008"
    assert error.message_hint
    library.rows("SELECT drop_embedding_space('test_space', true)")
    error = library.error(
        """SELECT * FROM hybrid_search('deploy', options => '{"strict": true}')"""
    )
    assert error.sqlstate == "PB001"


def test_no_vector_weight_asks_no_gateway(library: Database) -> None:
    options = '{"weights": {"vector": 0}, "strict": true}'
    assert library.column(
        "SELECT degraded FROM hybrid_search('deploy', options => %s)", options
    ) == [[]]
    assert library.warnings() == []


def test_same_data_same_bits(library: Database) -> None:
    query = (
        "SELECT score, relevance, arms FROM hybrid_search('production care', query_embedding => %s)"
    )
    first = library.rows(query, vector_of("wine"))
    assert all(library.rows(query, vector_of("wine")) == first for _ in range(3))


def test_a_view_on_a_search_works(library: Database) -> None:
    library.rows("CREATE VIEW mine AS SELECT r.* FROM lexical_search('production') AS r")
    assert len(library.rows("SELECT * FROM mine")) == 2


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("care -production", {"care", "sea"}),
        ('"of wine" care', {"wine"}),
        ('"of wine" or care', {"deploy", "care", "wine"}),
        ("care - production", {"deploy", "care", "wine", "sea"}),
    ],
)
def test_phrases_and_exclusions_bind_the_vectors_too(
    library: Database, query: str, found: set[str]
) -> None:
    rows = library.rows(
        "SELECT source_key FROM hybrid_search(%s, query_embedding => %s)",
        query,
        vector_of("production"),
    )
    assert {key for (key,) in rows} == found


def test_a_search_by_vector_alone_knows_no_operators(library: Database) -> None:
    rows = library.rows(
        "SELECT source_key FROM vector_search('care -production', query_embedding => %s)",
        vector_of("production"),
    )
    assert len(rows) == 4
