"""One run of `pgblend ingest`, from the paths to the report."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import click

from pgblend.cli.database import Connection, connect
from pgblend.cli.errors import ExitCode, UserError
from pgblend.cli.ingest.discovery import SourceFile, discover
from pgblend.cli.ingest.embedding import (
    BATCHES_IN_FLIGHT,
    Space,
    create_first_space,
    embed_waiting,
    get_setting,
    may_create_spaces,
    read_spaces,
)
from pgblend.cli.ingest.gateway_client import GatewayClient, GatewayUnavailableError
from pgblend.cli.ingest.language import AUTO, language_finder
from pgblend.cli.ingest.pipeline import Pipeline
from pgblend.cli.ingest.prices import embedding_cost
from pgblend.cli.ingest.progress import StartBar
from pgblend.cli.ingest.prune import prune
from pgblend.cli.ingest.records import FieldMap
from pgblend.cli.ingest.report import Report
from pgblend.cli.ingest.sources import Sources
from pgblend.cli.ingest.store import CollectionInfo, read_collection, text_configurations

_EMBEDDINGS = "embeddings"
# The server indexes the words, which is most of the work: two of its processes share it.
WRITERS = 2


@dataclass(frozen=True)
class IngestRequest:
    """What the user asked for."""

    paths: Sequence[Path]
    collection: str
    text_config: str | None = None
    language: str = AUTO
    root: Path | None = None
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    fields: FieldMap = field(default_factory=FieldMap)
    embed: bool = True
    prune: bool = False
    dry_run: bool = False


class Run:
    """Carries the connections and the report through the steps of a run."""

    def __init__(self, url: str, request: IngestRequest, start_bar: StartBar) -> None:
        self._url = url
        self._request = request
        self._start_bar = start_bar
        self.report = Report(request.collection, dry_run=request.dry_run)

    def execute(self) -> None:
        """Do everything; the report is right also when this raises."""
        request = self._request
        files, problems = discover(request.paths, request.root, request.include, request.exclude)
        for problem in problems:
            self.report.add(problem)
        with ExitStack() as stack:
            connections = [stack.enter_context(connect(self._url)) for _ in range(1 + WRITERS)]
            language_of = language_finder(request.language, text_configurations(connections[0]))
            collection = self._collection(connections[0])
            self._store(connections, collection, files, language_of)
            if request.prune and collection.id is not None:
                self.report.documents["pruned"] = prune(
                    connections[0], collection.id, request.paths, request.dry_run
                )
            if not request.dry_run:
                # What the last batches left; a failure is a warning, and lexical_status keeps it.
                connections[0].execute("SELECT pgblend.lexical_seal(%s)", [request.collection])
            if request.dry_run:
                model = get_setting(connections[0], "embedding_model")
                self.report.cost_usd = embedding_cost(model, self.report.tokens)
            elif request.embed:
                self._embed(connections)
            self.report.waiting = sum(space.waiting for space in read_spaces(connections[0]))

    def _collection(self, connection: Connection) -> CollectionInfo:
        """Read the collection, and make it where there is none."""
        name = self._request.collection
        collection = read_collection(connection, name)
        if collection.id is None and not self._request.dry_run:
            text_config = self._request.text_config or "english"
            connection.execute("SELECT pgblend.add_collection(%s, %s)", [name, text_config])
            click.echo(f"pgblend: made collection {name!r} ({text_config})", err=True)
            collection = read_collection(connection, name)
        elif collection.id is not None and self._request.text_config is not None:
            _check_text_config(connection, name, self._request.text_config)
        return collection

    def _store(
        self,
        connections: list[Connection],
        collection: CollectionInfo,
        files: list[SourceFile],
        language_of: Callable[[str], str | None],
    ) -> None:
        settings = collection.chunk_settings
        how = f"{settings!r} {self._request.language}"
        sources = Sources(self._request.fields, how, self.report.add)
        pipeline = Pipeline(
            reader=connections[0],
            writers=() if self._request.dry_run else connections[1:],
            collection=self._request.collection,
            collection_id=collection.id,
            settings=settings,
            language_of=language_of,
            report=self.report,
            advance=self._start_bar("Reading", sum(file.size for file in files)),
        )
        pipeline.run(sources.candidates(files))

    def _embed(self, connections: list[Connection]) -> None:
        """Give vectors to all chunks that wait; without a gateway the text stays findable."""
        url = get_setting(connections[0], "gateway_url")
        if not url:
            self.report.degrade(
                _EMBEDDINGS,
                "no model gateway is set",
                "start one (`pgblend gateway`), name it (`pgblend config set gateway_url "
                "http://host:port`), then run this again",
            )
            return
        try:
            with GatewayClient(url) as client:
                for space in self._spaces(connections[0], client):
                    self._embed_space(space, client, connections[:BATCHES_IN_FLIGHT])
        except GatewayUnavailableError as error:
            self.report.degrade(_EMBEDDINGS, error.reason, error.hint)

    def _spaces(self, connection: Connection, client: GatewayClient) -> list[Space]:
        """Return the embedding spaces; the first one is made for the model of the settings."""
        spaces = read_spaces(connection)
        if not spaces and self._has_chunks(connection):
            if not may_create_spaces(connection):
                self.report.degrade(
                    _EMBEDDINGS,
                    "there is no embedding space yet, and only an admin can make one",
                    "have a member of pgblend_admin run this command once",
                )
                return []
            create_first_space(connection, client, get_setting(connection, "embedding_model"))
            spaces = read_spaces(connection)
        return [space for space in spaces if space.waiting]

    def _has_chunks(self, connection: Connection) -> bool:
        row = connection.execute("SELECT EXISTS (SELECT FROM pgblend_data.chunk)").fetchone()
        return bool(row and row[0])

    def _embed_space(
        self, space: Space, client: GatewayClient, connections: list[Connection]
    ) -> None:
        move_bar = self._start_bar("Embedding", space.waiting)

        def advance(count: int) -> None:
            self.report.embedded += count
            move_bar(count)

        embed_waiting(space, client, connections, advance)


def _check_text_config(connection: Connection, name: str, asked: str) -> None:
    """Refuse another text search configuration than the collection has."""
    row = connection.execute(
        "SELECT text_search_config FROM pgblend_data.collection WHERE name = %s", [name]
    ).fetchone()
    if row and row[0] != asked:
        raise UserError(
            f"collection {name!r} has the text search configuration {row[0]!r}, not {asked!r}",
            hint="leave --text-config out, or ingest into another collection",
        )


def exit_code(report: Report) -> ExitCode:
    """Return 0 when nothing failed, 1 when everything did, else 4."""
    if not report.documents["failed"]:
        return ExitCode.OK
    done = (report.documents[status] for status in ("added", "replaced", "updated", "unchanged"))
    return ExitCode.PARTIAL if any(done) else ExitCode.ERROR
