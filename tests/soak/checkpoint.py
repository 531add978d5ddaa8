"""A check of everything while nobody writes: texts, BM25, vectors, the state of the index."""

import random

import pytest
from pgvector.psycopg import register_vector

from soak.record import Key, State
from soak.run import Run
from soak.session import Session
from soak.texts import WORDS
from soak.writers import stored
from support.bm25 import bm25
from support.model_provider import embed
from support.waiting import wait_until

QUERIES = 8
DRAIN_SECONDS = 180
_CHUNKS = """
    SELECT c.chunk_id, c.document_id, c.chunk_index, c.content
    FROM chunks AS c WHERE c.collection = 'walk'
"""
_FOUND = """
    SELECT chunk_id, (arms #>> '{lexical,score}')::double precision
    FROM lexical_search(%s, 10000, collections => '{walk}',
        options => '{"candidate_depth": 10000, "dedup": "off"}')
"""
_WAITING = "SELECT count(*) FROM pgblend_data.embedding_queue"
_DEAD = "SELECT count(*) FROM pgblend_data.embedding_queue WHERE dead_at IS NOT NULL"
_VECTORS = """
    SELECT c.content, e.embedding::vector FROM pgblend_data.chunk AS c
    FULL JOIN pgblend_data.embedding_{} AS e ON e.chunk_id = c.id
"""
_STATUS = "SELECT collection_name, status, chunks, last_error FROM lexical_status()"


def check(run: Run, session: Session, chance: random.Random) -> str:
    """Hold all that there is against the record."""
    states = run.record.snapshot()
    check_texts(run, session, states)
    check_order(run, session, chance)
    check_status(run, session)
    check_vectors(run, session)
    return "checkpoint"


def check_texts(run: Run, session: Session, states: dict[Key, State]) -> None:
    """Compare all texts; of a key in doubt, with what it may be."""
    for collection in {name for name, _ in states}:
        keys = [key for key in states if key[0] == collection]
        for key, chunks in stored(session, keys).items():
            if chunks not in states[key].possible:
                run.findings.problem(f"{key} is {chunks}, should be {set(states[key].possible)}")
    counted = session.rows("SELECT count(*) FROM documents")[0][0]
    certain = [state for state in states.values() if state.is_certain]
    least = sum(1 for state in certain if state.chunks)
    if not least <= counted <= least + len(states) - len(certain):
        run.findings.problem(f"{counted} documents, should be {least}")


def check_order(run: Run, session: Session, chance: random.Random) -> None:
    """Compare the lexical order and its scores with BM25 of the textbook."""
    chunks = session.rows(_CHUNKS)
    place = {chunk[0]: chunk[1:3] for chunk in chunks}
    for _ in range(QUERIES):
        query = chance.choices(WORDS, k=chance.randint(1, 4))
        found = session.rows(_FOUND, " ".join(query))
        scores = [score for _, score in found]
        # Equal sums may differ in the last bit: ties are found after rounding, as in the textbook.
        ordered = sorted(found, key=lambda row: (-round(row[1], 9), place.get(row[0], (0, 0))))
        expected = bm25(chunks, query)
        if [row[0] for row in ordered] != [row[0] for row in expected]:
            run.findings.problem(f"order of {query}: {len(found)} of {len(expected)} passages")
        elif [row[1] for row in ordered] != pytest.approx([row[1] for row in expected], rel=1e-9):
            run.findings.problem(f"scores of {query}")
        elif scores != sorted(scores, reverse=True):
            run.findings.problem(f"scores of {query} do not fall")


def check_status(run: Run, session: Session) -> None:
    """Have every collection's index be ready and complete."""
    for name, status, chunks, error in session.rows(_STATUS):
        counted = session.rows("SELECT count(*) FROM chunks WHERE collection = %s", name)[0][0]
        if status not in ("ready", "empty", "building") or chunks != counted or error:
            run.findings.problem(f"index of {name}: {status}, {chunks} of {counted}, {error}")


def check_vectors(run: Run, session: Session) -> None:
    """Wait until none is missing; each chunk has then one in the active space, its text's own."""
    try:
        wait_until(lambda: session.rows(_WAITING) == [(0,)], DRAIN_SECONDS)
    except AssertionError:
        left, dead = session.rows(_WAITING)[0][0], session.rows(_DEAD)[0][0]
        run.findings.problem(f"{left} chunks wait for a vector, {dead} were given up")
        return
    register_vector(session.connection)
    for space, is_active in session.rows("SELECT name, active FROM embedding_spaces"):
        rows = session.rows(_VECTORS.format(space))
        lone = sum(1 for text, vector in rows if text is None or vector is None)
        if lone and is_active:
            run.findings.problem(f"{lone} chunks or vectors of {space} are without the other")
        both = [(text, vector) for text, vector in rows if text and vector is not None]
        wrong = [text for text, vector in both if not is_close(vector.to_list(), embed(text))]
        if wrong:
            run.findings.problem(f"{len(wrong)} vectors in {space} are another text's: {wrong[0]}")


def is_close(vector: list[float], expected: list[float]) -> bool:
    """Compare two vectors as far as half precision tells them apart."""
    return max(abs(a - b) for a, b in zip(vector, expected, strict=True)) < 1e-3
