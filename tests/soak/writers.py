"""Writers: documents by SQL through pgbouncer, and a folder by `pgblend ingest`."""

import random
import tempfile
from pathlib import Path

from psycopg.types.json import Jsonb

from soak.commands import run_command
from soak.record import Chunks, Key
from soak.run import Run
from soak.session import ROLLED_BACK, Session
from soak.texts import new_chunks, tag_of

DOCUMENTS = 80  # keys of a writer: what there is stays bounded
FILES = 60
LONGEST_CHUNKS = 3
KILLED = "ingest killed"
_PUT = "SELECT ingest_document('walk', %s, %s, chunks => %s, content_hash => %s)"
_DELETE = "SELECT delete_document('walk', %s)"
_STORED = """
    SELECT c.collection, d.source_key, array_agg(c.content ORDER BY c.chunk_index)
    FROM chunks AS c INNER JOIN documents AS d ON d.document_id = c.document_id
    WHERE c.collection = %s AND d.source_key = ANY(%s) GROUP BY 1, 2
"""


def stored(session: Session, keys: list[Key]) -> dict[Key, Chunks]:
    """Return what the database has of keys of one collection."""
    names = [name for _, name in keys]
    found = session.rows(_STORED, keys[0][0], names) if keys else []
    there = {(collection, name): tuple(chunks) for collection, name, chunks in found}
    return {key: there.get(key, ()) for key in keys}


def settle(run: Run, found: dict[Key, Chunks]) -> None:
    """Let the record take what there is, and keep the words that are gone by that."""
    for key, chunks in found.items():
        before = run.record.state(key).possible
        run.gone.extend(tag_of(other) for other in before if other and other != chunks)
    del run.gone[:-500]
    run.record.settle(found)


class Writer:
    """Adds, replaces and deletes a few of its documents in a transaction; some are rolled back."""

    def __init__(self, name: str) -> None:
        self._keys = [("walk", f"{name}{number}") for number in range(DOCUMENTS)]
        self._unsure: dict[Key, tuple[Chunks, Chunks]] = {}  # a call that broke: before and after

    def step(self, run: Run, session: Session, chance: random.Random) -> str:
        """Write once; first look what became of a call that broke."""
        if self._unsure:
            self._look(run, session)
        keys = chance.sample(self._keys, chance.randint(1, 3))
        changes = {
            key: () if chance.random() < 0.3 else new_chunks(chance, LONGEST_CHUNKS) for key in keys
        }
        if chance.random() < 0.1:
            self._write(session, changes, rolled_back=True)
            return "rolled back"
        self._unsure = {key: (run.record.state(key).chunks, new) for key, new in changes.items()}
        run.record.doubt(changes)
        try:
            self._write(session, changes)
        except ROLLED_BACK:  # the server says that it rolled back
            self._look(run, session)
            raise
        self._unsure.clear()
        settle(run, changes)
        return "written"

    def _write(
        self, session: Session, changes: dict[Key, Chunks], rolled_back: bool = False
    ) -> None:
        with session.connection.transaction(force_rollback=rolled_back):
            for (_, name), chunks in sorted(changes.items()):
                if chunks:
                    parts = Jsonb([{"content": text} for text in chunks])
                    session.rows(_PUT, name, chunks[0], parts, tag_of(chunks))
                else:
                    session.rows(_DELETE, name)

    def _look(self, run: Run, session: Session) -> None:
        """Find out whether a transaction was committed: all of it, or nothing."""
        found = stored(session, list(self._unsure))
        for outcome in (0, 1):
            if found == {key: both[outcome] for key, both in self._unsure.items()}:
                break
        else:
            run.findings.problem(f"half of a transaction: {self._unsure}, found {found}")
        self._unsure.clear()
        settle(run, found)


class Ingester:
    """Changes files of a folder, and has `pgblend ingest` bring it in; some runs are killed."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="pgblend-soak-")
        self._keys = [("files", f"file{number}.txt") for number in range(FILES)]

    def step(self, run: Run, session: Session, chance: random.Random) -> str:
        """Change some files, and run the command once."""
        changes: dict[Key, Chunks] = {
            key: () if chance.random() < 0.2 else new_chunks(chance, most=1)
            for key in chance.sample(self._keys, 12)
        }
        folder = Path(self._folder.name)
        for (_, name), chunks in changes.items():
            if chunks:
                (folder / name).write_text(f"{chunks[0]}\n")
            else:
                (folder / name).unlink(missing_ok=True)
        run.record.doubt(changes)
        kill_after = chance.uniform(0.5, 4) if chance.random() < 0.3 else None
        if not self._ingest(run, folder, kill_after):
            return KILLED
        settle(run, {key: self._text(folder / key[1]) for key in self._keys})
        return "ingested a folder"

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()

    @staticmethod
    def _text(file: Path) -> Chunks:
        return (file.read_text().strip(),) if file.exists() else ()

    @staticmethod
    def _ingest(run: Run, folder: Path, kill_after: float | None) -> bool:
        """Run the command; tell whether it came to its end."""
        options = ["-c", "files", "--lang", "simple", "--no-embed", "--prune"]
        return run_command(run, ["ingest", str(folder), *options], kill_after)
