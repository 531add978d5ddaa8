"""What a parsing process says of a document: its parts, the first one last, with what is of all."""

import io
import tempfile
from pathlib import Path

import pytest

from pgblend.cli.base.child_process import read_frame, write_frame
from pgblend.cli.documents import parser
from pgblend.cli.documents.parse_settings import ChunkSettings, ParserConfig


def answers_for(path: Path, dry_run: bool) -> list[dict]:
    """Have a worker read one file and want its document; return what it says."""
    config = ParserConfig(ChunkSettings(10, 0, 0), "english", ["english"], dry_run=dry_run)
    requests, answers = io.BytesIO(), io.BytesIO()
    file = [str(path), path.name, True, path.stat().st_size, path.stat().st_mtime, None]
    write_frame(requests, {"files": [file], "skip": [], "seconds": 60})
    write_frame(requests, {"wanted": [[0, None]]})
    requests.seek(0)
    with tempfile.TemporaryFile() as note:
        parser.ParserWorker(requests, answers, note.fileno(), config.as_json()).serve()
    answers.seek(0)
    return [answer for answer in iter(lambda: read_frame(answers), None) if "part" in answer]


@pytest.mark.parametrize(
    ("paragraphs", "parts"),
    [(0, [0]), (1, [1]), (2, [2]), (3, [1, 2]), (4, [2, 2])],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_the_last_part_says_that_a_document_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paragraphs: int, parts: list, dry_run: bool
) -> None:
    monkeypatch.setattr(parser, "_PART_CHUNKS", 2)
    monkeypatch.setattr(parser, "_limit", lambda kind, value: None)
    path = tmp_path / "a.txt"
    path.write_text("\n\n".join(["one two three four five six seven eight"] * paragraphs))
    answers = answers_for(path, dry_run)
    payloads = [answer.pop("payload", None) for answer in answers]
    # The first part of a document goes last, and begins with its own row.
    found = [
        payload and payload.count(b"\n") - (answer["part"] == 0)
        for answer, payload in zip(answers, payloads, strict=True)
    ]
    assert found == ([None] if dry_run else parts)
    assert [answer["part"] for answer in answers] == [*range(1, len(found)), 0]
    assert ["chunks" in answer for answer in answers] == [False] * (len(found) - 1) + [True]
    assert answers[-1]["chunks"] == paragraphs
