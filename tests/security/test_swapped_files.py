"""A file or folder that becomes a link between the look at a folder and the reading of it."""

import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pgblend.cli.documents.discovery import discover, open_file, real_paths
from pgblend.cli.documents.html_pictures import files_in
from pgblend.cli.documents.ingest_report import SourceProblem
from pgblend.cli.documents.parse_settings import FieldMap
from pgblend.cli.documents.sources import Sources

MAIL = b"From a@b Mon Jan 1 00:00:00 2024\nMessage-ID: <1@x>\nSubject: s\n\n%s\n"


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A folder with files in folders of it, beside one of the same names that nobody named."""
    for folder, word in (("given", b"walrus"), ("secret", b"hunter")):
        inner = tmp_path / folder / "sub" / "deep"
        inner.mkdir(parents=True)
        (inner / "a.txt").write_bytes(word)
        (inner / "m.mbox").write_bytes(MAIL % word)
        (inner / "r.jsonl").write_bytes(b'{"text": "%s"}\n' % word)
        channel = inner / "slack" / "general"
        channel.mkdir(parents=True)
        (channel.parent / "users.json").write_text("[]")
        (channel.parent / "channels.json").write_text('[{"id": "C1", "name": "general"}]')
        message = b'[{"type": "message", "user": "U", "ts": "1700000000.1", "text": "%s"}]'
        (channel / "2023-11-14.json").write_bytes(message % word)
        with zipfile.ZipFile(inner / "z.zip", "w") as archive:
            for name in ("users.json", "channels.json", "general/2023-11-14.json"):
                archive.writestr(name, (channel.parent / name).read_bytes())
    return tmp_path / "given"


def put_link(path: Path, target: Path) -> None:
    """Swap what is there for a link."""
    path.rename(path.with_name(f"{path.name}.gone"))
    path.symlink_to(target)


SWAPS: dict[str, Callable[[Path, Path], None]] = {
    "nothing": lambda given, secret: None,
    "files": lambda given, secret: (
        [
            put_link(given / "sub/deep" / name, secret / "sub/deep" / name)
            for name in ("a.txt", "m.mbox", "r.jsonl", "z.zip", "slack")
        ]
        and None
    ),
    "files of an export": lambda given, secret: put_link(
        given / "sub/deep/slack/general", secret / "sub/deep/slack/general"
    ),
    "the folder": lambda given, secret: put_link(given / "sub/deep", secret / "sub/deep"),
    "a folder above": lambda given, secret: put_link(given / "sub", secret / "sub"),
}


def read_all(given: Path, swap: Callable[[Path, Path], None]) -> tuple[str, list[SourceProblem]]:
    """Look at the folder, swap, and read what was found."""
    problems: list[SourceProblem] = []
    files, _ = discover([given])
    sources = Sources(FieldMap(), "", problems.append, roots=real_paths([given]))
    swap(given, given.parent / "secret")
    texts = [str(candidate.parse()) for candidate in sources.candidates(files)]
    return " ".join(texts), problems


@pytest.mark.parametrize("swap", SWAPS)
def test_what_was_swapped_is_not_read(given: Path, swap: str) -> None:
    found, problems = read_all(given, SWAPS[swap])
    assert "hunter" not in found
    if swap == "nothing":
        assert found.count("walrus") >= 5
        assert problems == []
    else:
        assert problems or swap == "files of an export"  # which are looked at when it is read
        assert all("took its place" in problem.message for problem in problems)


def test_what_is_swapped_when_the_conversation_s_turn_comes(given: Path) -> None:
    """Of an mbox only an index is kept: it is opened again."""
    files, _ = discover([given / "sub" / "deep" / "m.mbox"])
    sources = Sources(FieldMap(), "", lambda _: None, roots=real_paths([given]))
    (candidate,) = sources.candidates(files)
    put_link(given / "sub", given.parent / "secret" / "sub")
    with pytest.raises(OSError, match="took its place"):
        candidate.parse()


@pytest.fixture
def at_the_last_moment(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Callable[[], None]]]:
    """What is to be done once a path was resolved, before it is opened."""
    actions: list[Callable[[], None]] = []
    resolve = os.path.realpath

    def realpath(path: Path) -> str:
        real = resolve(path)
        while actions:
            actions.pop()()
        return real

    monkeypatch.setattr(os.path, "realpath", realpath)
    yield actions
    assert not actions


@pytest.mark.parametrize("part", ["sub", "sub/deep", "sub/deep/a.txt"])
def test_no_link_is_followed_while_opening(
    given: Path, at_the_last_moment: list[Callable[[], None]], part: str
) -> None:
    roots = real_paths([given])
    at_the_last_moment.append(lambda: put_link(given / part, given.parent / "secret" / part))
    with pytest.raises(OSError, match="took its place"):
        open_file(given / "sub" / "deep" / "a.txt", roots)


def test_a_picture_beside_a_page_is_not_swapped(
    given: Path, at_the_last_moment: list[Callable[[], None]]
) -> None:
    read = files_in(given / "sub")
    assert read("deep/a.txt") == b"walrus"
    at_the_last_moment.append(
        lambda: put_link(given / "sub" / "deep", given.parent / "secret" / "sub" / "deep")
    )
    assert read("deep/a.txt") is None
    assert read("deep/a.txt") is None


def test_a_pipe_is_not_waited_for(given: Path) -> None:
    file = given / "sub" / "deep" / "a.txt"
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(OSError, match="not a regular file"):
        open_file(file, real_paths([given]))


def test_a_folder_that_may_only_be_passed_through(given: Path) -> None:
    """Its files may be opened, though it cannot be listed."""
    (given / "sub").chmod(0o111)
    with open_file(given / "sub" / "deep" / "a.txt", real_paths([given])) as stream:
        assert stream.read() == b"walrus"
