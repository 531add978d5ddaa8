"""search_diagnose: one document lost at each stage of a search, with the exact verdict."""

import json
from typing import Any

import pytest

from support.database import Database, add_documents, add_space, embed_waiting, vector_of

DOCUMENTS = [
    ("guide", "Guide", "deploy to production with care"),
    ("care", "Care", "handle with care"),
    ("wine", "Wine", "production of wine"),
    ("sea", "Sea", "ships sail the sea"),
]


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT add_collection('other')")
    guide, *_ = add_documents(db, "c", DOCUMENTS)
    add_documents(db, "other", [("far", "Far", "deploy far away")])
    db.rows("SELECT set_metadata(%s, %s)", guide, '{"author": "knuth", "year": 1974}')
    add_space(db)
    embed_waiting(db)
    return db


def diagnose(db: Database, query: str, document: str, **given: Any) -> dict[str, Any]:
    """Diagnose; options that are not arguments go into `options`, with the query's own vector."""
    arguments = {"collections", "filter", "profile", "result_limit"}
    options = {key: value for key, value in given.items() if key not in arguments}
    vector = None if options.pop("no_vector", False) else vector_of(query)
    return db.value(
        "SELECT search_diagnose(%s, %s, result_limit => %s, collections => %s, filter => %s,"
        " profile => %s, options => %s, query_embedding => %s)",
        query,
        document,
        given.get("result_limit", 10),
        given.get("collections"),
        json.dumps(given["filter"]) if "filter" in given else None,
        given.get("profile"),
        json.dumps(options),
        vector,
    )


def outcome(diagnosis: dict[str, Any]) -> tuple[str | None, str, str | None]:
    """The stage where it was lost, the verdict and the suggestion."""
    last = diagnosis["stages"][-1]
    assert last["finding"] == diagnosis["verdict"]
    assert diagnosis["lost_at"] == (None if last["passed"] else last["stage"])
    return diagnosis["lost_at"], diagnosis["verdict"], diagnosis["suggestion"]


def findings(diagnosis: dict[str, Any]) -> dict[str, str]:
    return {stage["stage"]: stage["finding"] for stage in diagnosis["stages"]}


def test_a_document_on_the_page(library: Database) -> None:
    diagnosis = diagnose(library, "deploy production", "guide", fuzzy="off")
    assert outcome(diagnosis) == (None, "It is result 1.", None)
    document = diagnosis["document"]
    assert document == {
        "id": document["id"],
        "source_key": "guide",
        "uri": None,
        "title": "Guide",
        "collection": "c",
        "language": "english",
        "passages": 1,
    }
    lexical, vector = library.row(
        "SELECT arms #>> '{lexical,score}', arms #>> '{vector,score}' FROM hybrid_search("
        "'deploy production', 1, query_embedding => %s)",
        vector_of("deploy production"),
    )
    assert findings(diagnosis) == {
        "document": "It is there, with 1 passage.",
        "collection": 'Its collection "c" is searched.',
        "lexical": f"Its rank by words is 1 (BM25 {float(lexical):.4g}).",
        "vector": f"Its rank by vectors is 1 (cosine {float(vector):.4g}).",
        "fuzzy": "It was not looked for by corrected words: by the setting fuzzy.",
        "fuse": "Its place after fuse is 1.",
        "dedup": "Its place after dedup is 1.",
        "page": "It is result 1.",
    }
    details = {stage["stage"]: stage["details"] for stage in diagnosis["stages"]}
    assert details["lexical"]["found"] == ["deploy", "production"]
    assert details["lexical"]["lacking"] == []
    assert details["lexical"]["score"] == pytest.approx(float(lexical), rel=1e-14)
    assert details["page"] == {"place": 1, "score": 1.0}


@pytest.mark.parametrize("name", ["document_id", "source_key", "uri"])
def test_a_document_is_named_by_id_key_or_uri(library: Database, name: str) -> None:
    library.rows("SELECT ingest_document('c', '17x', 'deploy again', uri => 'file:///17')")
    value = library.value(f"SELECT {name}::text FROM documents WHERE source_key = '17x'")
    diagnosis = diagnose(library, "deploy", value)
    assert diagnosis["document"]["source_key"] == "17x"


def test_no_such_document(library: Database) -> None:
    for name in ("nope", "0", "999999999999999999", "9" * 40, "gui%", "'; DROP TABLE x; --"):
        diagnosis = diagnose(library, "deploy", name)
        assert diagnosis["document"] is None
        assert outcome(diagnosis) == (
            "document",
            "There is no such document, or you may not read it.",
            "Look for its id, source key or URI in blend.documents.",
        )
        assert len(diagnosis["stages"]) == 1


def test_a_document_without_text(library: Database) -> None:
    library.rows("SELECT ingest_document('c', 'empty', '')")
    assert outcome(diagnose(library, "deploy", "empty")) == (
        "document", "It has no passages: its text is empty.", "Ingest it with text.",
    )  # fmt: skip


def test_another_collection(library: Database) -> None:
    assert outcome(diagnose(library, "deploy", "far", collections=["c"])) == (
        "collection", 'Its collection "other" is not searched.',
        'Search the collection "other" too.',
    )  # fmt: skip


def test_the_same_key_in_two_collections(library: Database) -> None:
    add_documents(library, "other", [("guide", "", "deploy elsewhere")])
    error = library.error("SELECT search_diagnose('deploy', 'guide')")
    assert error.sqlstate == "22023"
    assert 'document "guide" means several: ' in str(error.message_primary)
    assert error.message_hint
    one = library.value("SELECT search_diagnose('deploy', 'guide', collections => '{other}',"
                        " options => '{\"weights\": {\"vector\": 0}}')")  # fmt: skip
    assert one["document"]["collection"] == "other"


def test_another_language(library: Database) -> None:
    diagnosis = diagnose(library, "deploy", "guide", language="german")
    assert outcome(diagnosis) == (
        "language", "Its language is english, and only german is searched.",
        "Leave out the option language, or set it to english.",
    )  # fmt: skip
    passed = diagnose(library, "deploy", "guide", language="english")
    assert findings(passed)["language"] == "Its language is english, as asked for."


@pytest.mark.parametrize(
    ("condition", "failed"),
    [
        ({"author": "hugo"}, ['{"author": "hugo"}']),
        ({"author": "knuth", "year": 1980}, ['{"year": 1980}']),
        ({"author": "hugo", "year": {"lt": 1970}},
         ['{"year": {"lt": 1970}}', '{"author": "hugo"}']),
        ({"and": [{"author": "knuth"}, {"and": [{"year": 1}, {"year": 1974}]}]}, ['{"year": 1}']),
        ({"or": [{"author": "hugo"}, {"year": 1}]}, ['{"or": [{"author": "hugo"}, {"year": 1}]}']),
        ({"not": {"author": "knuth"}}, ['{"not": {"author": "knuth"}}']),
    ],
)  # fmt: skip
def test_a_filter_names_the_condition(library: Database, condition: Any, failed: Any) -> None:
    diagnosis = diagnose(library, "deploy", "guide", filter=condition)
    stage, verdict, suggestion = outcome(diagnosis)
    assert (stage, suggestion) == (
        "filter",
        "Leave that condition out, or change what the document says there.",
    )
    details = diagnosis["stages"][-1]["details"]
    assert sorted(details["failed"]) == sorted(failed)
    assert verdict == f"It fails the filter's {' and '.join(details['failed'])}."


def test_dates_are_conditions_of_the_filter(library: Database) -> None:
    library.rows("SELECT ingest_document('c', 'old', 'deploy', modified_at => '2001-02-03 UTC')")
    lost = diagnose(library, "deploy", "old", since="2020-01-01", filter={"$title": {"ne": "x"}})
    assert lost["verdict"] == 'It fails the filter\'s {"$date": {"gte": "2020-01-01"}}.'
    found = diagnose(library, "deploy", "old", since="2001-02-03", until="2001-02-03")
    assert findings(found)["filter"] == "It passes the filter."
    assert found["lost_at"] is None


def test_a_filter_that_only_two_passages_together_pass(library: Database) -> None:
    chunks = json.dumps(
        [{"content": word, "metadata": {word: True}} for word in ("first", "second")]
    )
    library.rows("SELECT ingest_document('c', 'two', '', chunks => %s)", chunks)
    both = {"first": True, "second": True}
    assert diagnose(library, "first", "two", filter=both)["stages"][-1]["details"] == {
        "failed": ['{"first": true, "second": true}']
    }
    passed = diagnose(library, "first", "two", filter={"first": True})
    assert findings(passed)["filter"] == "It passes the filter."


def test_phrases_and_exclusions(library: Database) -> None:
    diagnosis = diagnose(library, 'care "of wine" -deploy', "care")
    assert outcome(diagnosis) == (
        "operators", 'No passage of it satisfies the query\'s "of wine" -deploy.',
        "Take the quotes and the minus signs out of the query.",
    )  # fmt: skip
    held = diagnose(library, '"with care" -wine', "guide")
    assert findings(held)["operators"] == 'It satisfies the query\'s "with care" -wine.'
    assert held["lost_at"] is None


def test_words_that_it_lacks(library: Database) -> None:
    words = {"lexical": 1, "vector": 0}
    assert outcome(diagnose(library, "ship", "guide", weights=words, fuzzy="off")) == (
        "candidates", 'No arm has it among its candidates: it lacks the word "ship".',
        "Ask with words that it has.",
    )  # fmt: skip
    diagnosis = diagnose(library, "ships wine sails", "guide", weights=words, fuzzy="off")
    assert findings(diagnosis)["lexical"] == ('It has none of the words "sails", "ships", "wine".')
    stop = diagnose(library, "the of", "guide", weights=words, fuzzy="off")
    assert findings(stop)["lexical"] == "The query has no words that count."


def test_the_cut_of_an_arm(library: Database) -> None:
    words = {"lexical": 1, "vector": 0}
    deep = diagnose(library, "care", "guide", weights=words, fuzzy="off", candidate_depth=1)
    best, own = library.column(
        "SELECT arms #>> '{lexical,score}' FROM lexical_search('care') ORDER BY rank"
    )
    assert outcome(deep) == (
        "candidates",
        "No arm has it among its candidates: its rank by words is 2"
        f" (BM25 {float(own):.4g}), beyond candidate_depth 1 (BM25 {float(best):.4g}).",
        "Raise candidate_depth to 2.",
    )
    raised = diagnose(library, "care", "guide", weights=words, fuzzy="off", candidate_depth=2)
    assert raised["lost_at"] is None


def test_the_nearer_arm_is_suggested(library: Database) -> None:
    add_documents(library, "c", [(f"w{n}", "", "wine " * (n + 3)) for n in range(5)])
    embed_waiting(library)
    lost = 0
    for key in ("wine", "w0", "w1", "w2", "w3", "w4"):
        diagnosis = diagnose(library, "wine", key, fuzzy="off", candidate_depth=1)
        if diagnosis["lost_at"] == "candidates":
            lost += 1
            ranks = [
                stage["details"]["rank"]
                for stage in diagnosis["stages"]
                if stage["stage"] in ("lexical", "vector")
            ]
            assert diagnosis["suggestion"] == f"Raise candidate_depth to {min(ranks)}."
    assert lost >= 4


def test_no_vector_yet(library: Database) -> None:
    add_documents(library, "c", [("new", "", "fresh paint")])
    vectors = {"lexical": 0, "vector": 1}
    assert outcome(diagnose(library, "fresh paint", "new", weights=vectors, fuzzy="off")) == (
        "candidates", "No arm has it among its candidates: it has no vector yet.",
        "Run pgblend ingest with a model gateway, which makes its vector.",
    )  # fmt: skip
    both = diagnose(library, "fresh paint", "new", fuzzy="off")
    assert findings(both)["vector"] == "It has no vector yet."
    assert both["lost_at"] is None


def test_without_a_gateway_only_words_are_looked_at(library: Database) -> None:
    diagnosis = diagnose(library, "deploy", "sea", no_vector=True, fuzzy="off")
    arms = findings(diagnosis)
    assert arms["vector"].startswith("It was not looked for by vectors: no model gateway is set. ")
    assert diagnosis["verdict"] == (
        'No arm has it among its candidates: it lacks the word "deploy".'
    )


def test_misspelt_words(library: Database) -> None:
    words = {"lexical": 1, "vector": 0, "fuzzy": 1}
    diagnosis = diagnose(library, "prodution", "wine", weights=words)
    told = findings(diagnosis)
    assert told["lexical"] == 'It lacks the word "prodution".'
    assert told["fuzzy"].startswith("Its rank by corrected words is ")
    lost = diagnose(library, "prodution", "sea", weights=words)
    assert findings(lost)["fuzzy"] == "It has none of the corrected words."
    known = diagnose(library, "production", "wine", weights=words)
    assert findings(known)["fuzzy"] == (
        "It was not looked for by corrected words: no word had to be corrected."
    )


def test_min_score(library: Database) -> None:
    score = library.value(
        "SELECT score FROM hybrid_search('deploy production', query_embedding => %s,"
        """ options => '{"fuzzy": "off"}') WHERE source_key = 'sea'""",
        vector_of("deploy production"),
    )
    lost = diagnose(library, "deploy production", "sea", fuzzy="off", min_score=0.9)
    lower = int(score * 1000) / 1000
    assert outcome(lost) == (
        "min_score", f"Its score {score:.4g} is below min_score 0.9.",
        f"Lower min_score to {lower:g}.",
    )  # fmt: skip
    kept = diagnose(library, "deploy production", "sea", fuzzy="off", min_score=lower)
    assert kept["lost_at"] is None


def test_min_relevance(library: Database) -> None:
    relevance = library.value(
        "SELECT relevance FROM hybrid_search('deploy production', query_embedding => %s,"
        """ options => '{"fuzzy": "off"}') WHERE source_key = 'wine'""",
        vector_of("deploy production"),
    )
    lost = diagnose(library, "deploy production", "wine", fuzzy="off", min_relevance=0.999)
    assert lost["verdict"] == f"Its relevance {relevance:.4g} is below min_relevance 0.999."
    suggested = float(lost["suggestion"].removeprefix("Lower min_relevance to ").rstrip("."))
    assert relevance - 0.001 < suggested <= relevance
    add_documents(library, "c", [("new", "", "deploy")])
    none = diagnose(library, "deploy", "new", fuzzy="off", min_relevance=0)
    assert outcome(none) == (
        "min_relevance", "It has no relevance, and min_relevance asks for 0.",
        "Leave out min_relevance.",
    )  # fmt: skip


def test_what_would_bring_it_up_does(library: Database) -> None:
    """Each thing that is named moves the document up when it is done."""
    query = "deploy to production with ease"
    others = [" ".join(f"other{n}x{m}" for m in range(30)) for n in range(5)]
    texts = [(f"w{n}", "", f"deploy production {other}") for n, other in enumerate(others)]
    add_documents(library, "c", [*texts, ("ease", "", "to go with what comes to us, with calm")])
    embed_waiting(library)
    words = {"weights": {"vector": 0.01}, "result_limit": 3, "fusion": "rrf", "fuzzy": "off"}
    found = diagnose(library, query, "ease", **words)
    assert found["verdict"].endswith("and the page ends at 3.")
    raised, lacking, *_ = found["suggestion"].split(". ")
    assert raised.startswith("Raise weights.vector: its rank by vectors is ")
    assert lacking == (
        'It would rank higher if it had these words of the query: "deploy", "ease", "production"'
    )
    heavier = diagnose(library, query, "ease", **(words | {"weights": {"vector": 100}}))
    assert heavier["lost_at"] is None
    library.rows("SELECT ingest_document('c', 'ease', 'deploy to production with ease')")
    assert diagnose(library, query, "ease", **words)["lost_at"] is None


def test_pages(library: Database) -> None:
    vector = vector_of("deploy production")
    order = library.column(
        "SELECT source_key FROM hybrid_search('deploy production', query_embedding => %s,"
        """ options => '{"fuzzy": "off"}', collections => '{c}') ORDER BY rank""",
        vector,
    )
    assert len(order) == 4
    assert set(order[2:]) == {"care", "sea"}
    lacking = '"deploy", "production"'
    query = {"collections": ["c"], "fuzzy": "off"}
    third = diagnose(library, "deploy production", order[2], result_limit=1, **query)
    assert outcome(third) == (
        "page", "Its place is 3, and the page ends at 1.",
        "It would rank higher if it had these words of the query: " + lacking + "."
        " Ask for 3 results, or for offset 2.",
    )  # fmt: skip
    fourth = diagnose(library, "deploy production", order[3], result_limit=2, offset=1, **query)
    assert outcome(fourth) == (
        "page", "Its place is 4, and the page ends at 3.",
        "It would rank higher if it had these words of the query: " + lacking + "."
        " Ask for 3 results, or for offset 2.",
    )  # fmt: skip
    first = diagnose(library, "deploy production", order[0], result_limit=2, offset=1, **query)
    assert outcome(first) == (
        "page", "Its place is 1, and the page begins at 2.", "Ask for offset 0.",
    )  # fmt: skip
    none = diagnose(library, "deploy production", order[1], result_limit=0, **query)
    assert outcome(none) == (
        "page", "It is result 2, and no results were asked for.", "Ask for 2 results.",
    )  # fmt: skip


def test_fusion_has_more_than_the_depth(library: Database) -> None:
    query = {"collections": ["c"], "fuzzy": "off", "candidate_depth": 1, "rrf_k": 0,
             "fusion": "rrf", "weights": {"lexical": 1, "vector": 2}}  # fmt: skip
    lexical, vector = "care", "ships sail the sea"
    diagnosis = library.value(
        "SELECT search_diagnose(%s, 'care', collections => '{c}', options => %s,"
        " query_embedding => %s)",
        lexical,
        json.dumps({key: value for key, value in query.items() if key != "collections"}),
        vector_of(vector),
    )
    assert outcome(diagnosis) == (
        "page", "Its place is 2, and candidate_depth 1 is the last one shown.",
        "Raise candidate_depth to 2.",
    )  # fmt: skip


def test_wrong_arguments(library: Database) -> None:
    for query, document in ((None, "guide"), (" ", "guide"), ("deploy", None), ("deploy", "")):
        error = library.error("SELECT search_diagnose(%s, %s)", query, document)
        assert error.sqlstate == "22023"
        assert error.message_hint
    for options in ('{"nope": 1}', '{"candidate_depth": 0}'):
        error = library.error("SELECT search_diagnose('a', 'guide', options => %s)", options)
        assert error.sqlstate == "22023"
    error = library.error("SELECT search_diagnose('a', 'guide', result_limit => -1)")
    assert error.sqlstate == "22023"
    error = library.error("SELECT search_diagnose('a', 'guide', collections => '{nope}')")
    assert error.sqlstate == "42704"


def test_it_agrees_with_the_search(library: Database) -> None:
    for query in ("deploy production", "care", "sea wine", "handle production"):
        rows = dict(
            library.rows(
                "SELECT source_key, rank FROM hybrid_search(%s, 10, '{c}', query_embedding => %s)",
                query,
                vector_of(query),
            )
        )
        for key, _, _ in DOCUMENTS:
            diagnosis = diagnose(library, query, key, collections=["c"])
            if key in rows:
                assert diagnosis["verdict"] == f"It is result {rows[key]}."
            else:
                assert diagnosis["lost_at"] == "candidates"


def test_what_is_hidden_is_not_there(two_collections: Any) -> None:
    reader, only_open = two_collections.reader, two_collections.only_open
    for name in ("plan", "rollout", "cellar", "deploy", "sea"):
        seen = [
            db.value(
                "SELECT search_diagnose('deploy to production', %s, query_embedding => %s)",
                name,
                vector_of("deploy to production"),
            )
            for db in (reader, only_open)
        ]
        for diagnosis in seen:
            if diagnosis["document"]:
                diagnosis["document"].pop("id")
        assert seen[0] == seen[1]
    hidden = two_collections.admin.value(
        "SELECT document_id FROM documents WHERE source_key = 'plan'"
    )
    diagnosis = reader.value("SELECT search_diagnose('deploy', %s)", str(hidden))
    absent = reader.value("SELECT search_diagnose('deploy', 'absent')")
    assert diagnosis == absent


def test_duplicates_name_what_they_repeat(library: Database) -> None:
    add_documents(library, "c", [("twin", "Twin", "deploy to production with care")])
    embed_waiting(library)
    lost = diagnose(library, "deploy production", "twin", fuzzy="off", dedup="exact")
    assert outcome(lost) == (
        "dedup", 'It has the same text as "Guide", which stands before it.',
        "Turn dedup off to keep it.",
    )  # fmt: skip
    assert lost["stages"][-1]["details"]["reason"] == "content"
    assert diagnose(library, "deploy production", "twin", dedup="off")["lost_at"] is None


def test_near_duplicates(library: Database) -> None:
    words = "deploy the new release to production on every monday with great care and patience"
    add_documents(library, "c", [("one", "One", words), ("two", "Two", f"{words} now")])
    embed_waiting(library)
    outcomes = {
        key: diagnose(library, "deploy release", key, fuzzy="off", dedup="near")["verdict"]
        for key in ("one", "two")
    }
    said = 'It says nearly the same as "{}", which stands before it.'
    assert outcomes in (
        {"one": "It is result 1.", "two": said.format("One")},
        {"one": said.format("Two"), "two": "It is result 1."},
    )


def test_a_document_whose_best_passage_is_kept_is_found(library: Database) -> None:
    chunks = json.dumps([{"content": f"deploy number {n}"} for n in range(5)])
    library.rows("SELECT ingest_document('c', 'many', '', chunks => %s)", chunks)
    embed_waiting(library)
    found = diagnose(library, "deploy number", "many", per_document=1)
    assert found["lost_at"] is None


def test_minima_are_told_before_diversity(library: Database) -> None:
    lost = diagnose(
        library, "deploy production", "sea", fuzzy="off", min_score=0.9, mmr={"lambda": 0.5}
    )
    assert lost["lost_at"] == "min_score"
    assert "mmr" not in findings(lost)


def test_literal_profiles_fetch_by_the_limit(library: Database) -> None:
    add_documents(library, "c", [(f"w{n}", "", "wine " * (n + 3)) for n in range(9)])
    embed_waiting(library)
    lost = diagnose(library, "production wine", "sea", profile="gno", result_limit=1)
    assert lost["lost_at"] == "candidates"
    assert "beyond the 2 candidates" in lost["verdict"]
    assert lost["suggestion"] == (
        "Ask for more results: this profile looks at a multiple of them (over_fetch)."
    )
