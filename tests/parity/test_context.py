"""The pure functions of contexts, in Python and as they are deployed."""

import json
from typing import Any

import psycopg
import pytest

from pgblend.plpy.answers.assemble import text_around
from pgblend.plpy.answers.render import context_document
from support.program import loading

DEPLOYED = """
CREATE OR REPLACE FUNCTION pg_temp.context_document(request json) RETURNS jsonb
LANGUAGE plpython3u AS $python$
import json
from pgblend.plpy.answers.render import context_document

return json.dumps(context_document(json.loads(request)))
$python$;
"""


def chunk(index: int, content: str, **more: Any) -> dict[str, Any]:
    return {
        "chunk_id": index, "document_id": 7, "chunk_index": index, "content": content,
        "kind": "doc", "own_start": 0, "start_offset": None, "end_offset": None,
        "start_line": None, "end_line": None, "pages": None, "token_count": 4,
        "piece_tokens": None,
    } | more  # fmt: skip


CHUNKS = [
    chunk(0, "First part.", start_line=1, end_line=1),
    chunk(1, "part. Second part.", own_start=6, start_line=1, end_line=1),
    chunk(2, "Third 🦊 part.", start_line=2, end_line=2),
    chunk(4, "Fifth part."),
]


@pytest.mark.parametrize(
    ("index", "before", "after", "expected"),
    [
        (0, 99, 99, ("", "Second part.\nThird 🦊 part.")),
        (1, 99, 99, ("First", "Third 🦊 part.")),
        (2, 12, 12, ("Second part.", "")),
        (4, 99, 99, ("", "")),
        (0, 0, 8, ("", "Second")),
    ],
)
def test_text_around(index: int, before: int, after: int, expected: tuple[str, str]) -> None:
    assert text_around(CHUNKS, index, before, after) == expected


@pytest.mark.parametrize("shape", ["json", "markdown", "messages"])
@pytest.mark.parametrize("around", [0, 30])
def test_context_document(module_connection: psycopg.Connection, shape: str, around: int) -> None:
    request = {
        "query": "which part?",
        "format": shape,
        "hits": [
            {"chunk_id": number, "score": 1 - number / 10, "relevance": None,
             "arms": {"vector": {"rank": number + 1, "score": 0.5}},
             "document_id": 7, "collection": "c", "uri": None, "title": "", "source_key": "k*"}
            for number in (1, 0, 4)
        ],
        "chunks": CHUNKS,
        "settings": {
            "max_tokens": 900, "max_file_tokens": None, "max_part_tokens": None,
            "reserve_tokens": {"code": 5}, "context_order": "score",
            "context_chars": {"before": around, "after": around},
        },
    }  # fmt: skip
    found = context_document(request)
    module_connection.execute(loading(DEPLOYED))
    row = module_connection.execute(
        "SELECT pg_temp.context_document(%s)", [json.dumps(request)]
    ).fetchone()
    assert row == (found,)
    assert [part["spans"] for part in found["parts"]] == [[[1, 2]] if around else [[1, 1]], []]
    assert found["parts"][0]["text"].startswith("First part. Second part.")
