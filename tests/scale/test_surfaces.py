"""What a coordinator shows beside rows of searches is what one node shows."""

import json
from typing import Any

import pytest

from support.database import Database
from support.shards import Scale

VECTOR = "[1,-2,3,-4,5,-6,7,-8]"
EXACT = json.dumps({"vector_scan": "exact"})
TEXTS = {
    "books": ("red wine of France", "red fox, red wine", "the sea", "wines of the sea"),
    "briefe": ("rote Häuser", "ein Haus am See", "roter Wein"),
    "rest": ("vin rouge", "wine"),
}
ASKED = f"query_embedding => '{VECTOR}', options => '{EXACT}'"
CALLS = {
    "facets": "SELECT key, value, count, document_count, pool_size, count_estimate"
    f" FROM search_facets('wine', '{{$collection,$title,$language}}', {ASKED})",
    "explain": f"SELECT search_explain('red wine', {ASKED})",
    "context": f"SELECT get_context('red wine', {ASKED})",
    "context as text": f"SELECT get_context('wien', {ASKED}, output_format => 'markdown')",
    "ask": f"SELECT ask('what is red wine?', {ASKED}, answer => false)",
    "vectors": "SELECT * FROM chunk_embeddings(ARRAY(SELECT c.chunk_id FROM chunks AS c))"
    " ORDER BY chunk_id",
    "node": "SELECT graph_node('books', 'k0')",
    "neighbours": "SELECT * FROM graph_neighbors(graph_node('books', 'k0'), 3,"
    " edge_types => '{link,next,part_of}')",
    "graph from seeds": "SELECT * FROM graph_search(ARRAY[graph_node('books', 'k0')], 2)",
    "graph from a query": f"SELECT * FROM graph_search(query => 'wine', {ASKED})",
    "a page further on": f"SELECT * FROM hybrid_search('wine', 2, {ASKED[:-2]},"
    """ "offset": 1}')""",
    "diagnosis": "SELECT search_diagnose('red wine', d.id, collections => '{books}',"
    f" {ASKED}) FROM unnest(ARRAY['k0', 'k2', 'nothing']) AS d (id)",
    "diagnosis of what a filter leaves out": "SELECT search_diagnose('vin -rouge \"de la\"', 'k0',"
    f""" collections => '{{rest}}', filter => '{{"$title": "x"}}', {ASKED})""",
    "diagnosis of typos": f"SELECT search_diagnose('wien', '%s', {ASKED})",
    "audit": "SELECT filter, selectivity, queries, recall, worst_recall, short_pages"
    " FROM audit_recall(sample_size => 5, result_limit => 3)",
    "audit of filters": "SELECT filter, selectivity, queries, recall, short_pages"
    " FROM audit_recall('{books,rest}', 5, 3,"
    """ filters => ARRAY[NULL, '{"$title": "Wine"}', '{"a": 1}']::jsonb[])""",
    "passages for a reranker": f"SELECT * FROM rerank_candidates('wine', {ASKED})",
}
LAST = "SELECT max(document_id) FROM documents"
VIEWS = {
    "chunks": "chunk_id", "collections": "name", "conversations": "document_id",
    "document_metadata": "document_id", "documents": "document_id", "edges": "source, target",
    "embedding_dead_letters": "chunk_id", "embedding_progress": "space",
    "embedding_spaces": "name", "entities": "node", "links": "document_id",
}  # fmt: skip
# Of other databases, other times, or of how long something took.
OTHER = {"ms", "start_ms", "total_ms", "created_at", "ingested_at", "search", "assembly"}


@pytest.fixture(scope="module")
def stored(two_shards: Scale) -> Scale:
    """Documents in three collections, with vectors and a link between two shards."""
    two_shards.clear()
    for collection, texts in TEXTS.items():
        for place, text in enumerate(texts):
            two_shards.add(collection, f"k{place}", text, "Wine" if place % 2 else "")
    for database in (two_shards.one, two_shards.coordinator):
        database.rows("""SELECT set_metadata(d.document_id, '{"by": "hand"}')
            FROM documents AS d WHERE d.source_key = 'k3'""")
    two_shards.embed("s", 8)
    return two_shards


def plain(value: Any) -> Any:
    """Return a value without what differs between any two databases."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if name not in OTHER}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def shown(database: Database, query: str) -> Any:
    """Return the rows of a query by column."""
    cursor = database.connection.execute(query.encode())
    assert cursor.description
    names = [column.name for column in cursor.description]
    return [plain(dict(zip(names, row, strict=True))) for row in cursor.fetchall()]


@pytest.mark.parametrize("name", CALLS)
def test_a_call_gives_what_one_node_gives(stored: Scale, name: str) -> None:
    query = CALLS[name].replace("%s", str(stored.one.value(LAST)))
    expected = shown(stored.one, query)
    assert expected
    assert shown(stored.coordinator, query) == expected


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_shows_what_one_node_shows(stored: Scale, view: str) -> None:
    query = f"SELECT * FROM {view} ORDER BY {VIEWS[view]}"
    expected = shown(stored.one, query)
    assert shown(stored.coordinator, query) == expected
    assert expected or view in {"conversations", "edges", "entities", "links",
                                "document_metadata", "embedding_dead_letters"}  # fmt: skip


def test_vectors_are_counted(stored: Scale) -> None:
    query = "SELECT name, chunks, vectors, waiting, dead, missing FROM count_vectors()"
    assert shown(stored.coordinator, query) == shown(stored.one, query)
    assert stored.coordinator.value("SELECT part FROM warm()") == "session"


def test_judged_queries_are_the_coordinator_s_own(stored: Scale) -> None:
    """Their figures are one node's; a passage of any shard can be judged."""
    measured = []
    for database in (stored.one, stored.coordinator):
        database.rows("SELECT add_judged_set('j', 'books')")
        for key, grade in (("k0", 2), ("k1", 1)):
            database.rows("SELECT record_judgement('j', 'red wine', %s, %s)", key, grade)
        said = database.error("SELECT record_judgement('j', 'red wine', 'nothing', 1)")
        assert "there is no document" in str(said.message_primary)
        database.rows("SELECT evaluate_queries(pgblend._start_run('j', 'lexical', NULL, '{}', 10))")
        columns = "query_key, source_keys, scores, passages"
        measured.append(shown(database, f"SELECT {columns} FROM evaluation_queries"))
        database.rows(
            "SELECT pgblend._note_feedback('the sea', s.chunk_id, 1)"
            " FROM lexical_search('sea', collections => '{books}') AS s"
        )
        noted = "SELECT source_key, grade FROM judgements WHERE judged_set = 'feedback: books'"
        assert {tuple(row) for row in database.rows(noted)} == {("k2", 1), ("k3", 1)}
        database.rows("SELECT remove_judged_set('j')")
    assert measured[0] == measured[1]


def test_lexical_status_adds_up(stored: Scale) -> None:
    columns = "collection_name, status, chunks, pending + sealed AS live"
    query = f"SELECT {columns} FROM lexical_status() ORDER BY 1"
    assert shown(stored.coordinator, query) == shown(stored.one, query)


def test_what_is_not_there_is_the_error_of_one_node(stored: Scale) -> None:
    for call in (
        "SELECT graph_node('books', 'nothing')",
        "SELECT * FROM graph_neighbors('document:999999999')",
        "SELECT * FROM lexical_status('nothing')",
        "SELECT key, value, count, pool_size, count_estimate FROM search_facets('wine', '{}')",
        "SELECT * FROM chunk_embeddings('{1}', 'nothing')",
    ):
        one, other = (database.error(call) for database in (stored.one, stored.coordinator))
        assert (other.sqlstate, other.message_primary) == (one.sqlstate, one.message_primary)
