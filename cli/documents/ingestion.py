"""One run of `pgblend ingest`, from the paths to the report."""

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from random import Random

import click
import psycopg

from pgblend.cli.base.database import Connection, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.extras import how_to_install, missing
from pgblend.cli.base.output import BYTES, StartBar
from pgblend.cli.base.places import push_changes
from pgblend.cli.documents.discovery import SourceFile, discover, file_of, leads_out, real_paths
from pgblend.cli.documents.document_writer import (
    CollectionInfo,
    Stores,
    read_collection,
    sessions,
    text_configurations,
)
from pgblend.cli.documents.ingest_report import Report
from pgblend.cli.documents.language import AUTO, language_finder
from pgblend.cli.documents.parse_settings import FieldMap, Limits, ParserConfig
from pgblend.cli.documents.pipeline import Destination, Pipeline
from pgblend.cli.documents.read_pictures import Vision, how_to_read
from pgblend.cli.documents.readers import ReaderRules
from pgblend.cli.embed.spaces import (
    HINT,
    Unknown,
    get_setting,
    needs_vectors,
    told,
    unknown_languages,
)

_FOR_THE_OWNER = "PB017"  # it would run the program with the owner's rights
# Documents whose file has vanished.

# Only what an earlier run found under one of the folders: other documents are none of its business.
_STORED = """
    SELECT d.id, d.uri
    FROM pgblend_data.document AS d
    WHERE d.collection_id = ANY(pgblend._compartments(%s))
        AND EXISTS (SELECT FROM unnest(%s::text[]) AS prefix WHERE starts_with(d.uri, prefix))
    ORDER BY d.id
"""


def prune(
    connection: Connection,
    collection_id: int,
    paths: Sequence[Path],
    dry_run: bool,
    follow_links: bool,
) -> int:
    """Delete the documents that came from under `paths` and whose file is gone; count them.

    Gone is also what a link out of `paths` leads to, unless `follow_links`.

    A record of a JSONL file goes when the file does, not when its line does.
    """
    folders = [Path(os.path.abspath(path)) for path in paths if path.is_dir()]
    prefixes = [folder.as_uri().rstrip("/") + "/" for folder in folders]
    rows = connection.execute(_STORED, [collection_id, prefixes]).fetchall()
    roots = real_paths(paths)

    def is_gone(file: Path) -> bool:
        return not file.exists() or (not follow_links and leads_out(file, roots))

    gone = [document_id for document_id, uri in rows if is_gone(file_of(uri))]
    if gone and not dry_run:
        with connection.transaction():
            connection.execute(
                "SELECT blend.delete_document(id) FROM unnest(%s::bigint[]) AS id", [gone]
            )
    return len(gone)


# The server indexes the words, which is most of the work: two of its processes share it.
WRITERS = 2
# Less is done before an estimate would be.
_LARGE_BYTES = 4_000_000
_SAMPLED_BYTES, _SAMPLED_FILES = 1_000_000, 50
_DUPLICATE_OBJECT = "42710"
_WAITING = """
    SELECT count(*) FROM pgblend_data.embedding_queue AS q
    INNER JOIN pgblend_data.embedding_space AS s ON s.name = q.space AND s.active
    WHERE q.collection_id = %(collection_id)s::bigint AND q.dead_at IS NULL
"""
_LAST_CHUNK = "SELECT coalesce(max(id), 0) FROM pgblend_data.chunk"


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
    resume: bool = False
    sync: bool = False
    limits: Limits = field(default_factory=Limits)
    entities: bool = False
    follow_links: bool = False
    readers: Sequence[str] = ()
    readers_from: str | None = None

    @cached_property
    def roots(self) -> list[Path] | None:
        """The paths without links, which no link may lead out of; None where links are followed."""
        return None if self.follow_links else real_paths(self.paths)


class IngestRun:
    """Carries the connections and the report through the steps of a run."""

    def __init__(self, url: str, request: IngestRequest, start_bar: StartBar) -> None:
        self._url = url
        self._request = request
        self._start_bar = start_bar
        self.report = Report(request.collection, dry_run=request.dry_run)

    def execute(self) -> None:
        """Do everything; the report is right also when this raises."""
        request = self._request
        files, problems = discover(
            request.paths,
            request.root,
            request.include,
            request.exclude,
            request.follow_links,
            ReaderRules(request.readers, request.readers_from, request.roots).readers_of,
        )
        for problem in problems:
            self.report.add(problem)
        with ExitStack() as stack:
            stores = stack.enter_context(Stores(self._url))
            writers = [stack.enter_context(Stores(self._url)) for _ in range(WRITERS)]
            configurations = text_configurations(stores.front)
            language_finder(request.language, configurations)  # refuses an unknown one
            collection = self._collection(stores.front)
            databases = stores.all()
            last_chunks = {
                number: fetch_value(one, _LAST_CHUNK) for number, one in databases.items()
            }
            unknown = self._unknown_languages(databases.values())
            self._store(stores, writers, collection, files, sorted(configurations))
            if request.prune and collection.id is not None:
                gone = request.paths, request.dry_run, request.follow_links
                self.report.documents["pruned"] = sum(
                    prune(one, collection.id, *gone) for one in databases.values()
                )
            if not request.dry_run:
                # Two writers may have stored documents that link to each other at the same time.
                stores.front.execute("SELECT blend.resolve_links(%s)", [request.collection])
                if collection.mentions:
                    stores.front.execute("SELECT blend.link_mentions(%s)", [request.collection])
                # The first writer's session has the program loaded already, if there is one.
                self._seal((writers[0] if writers[0].is_open else stores).front)
            if request.dry_run:
                self._forecast(stores.front, self.report, collection.summaries)
            elif request.embed:
                self._embed(stores, writers, collection.id, last_chunks)
            if not request.dry_run and (request.entities or collection.entities):
                self._find_entities(stores.front)
            databases = stores.all()
            if more := self._unknown_languages(databases.values()) - unknown:
                self.report.degrade("languages", told(more), HINT)
            own = {"collection_id": collection.id}
            self.report.waiting = sum(fetch_value(one, _WAITING, own) for one in databases.values())

    def _embed(
        self,
        stores: Stores,
        writers: Sequence[Stores],
        collection_id: int | None,
        last_chunks: dict[int, int],
    ) -> None:
        """Give vectors to what waits in each database."""
        for number, database in stores.all().items():
            if needs_vectors(database):
                from pgblend.cli.embed.step import ChunksOfRun, EmbedStep  # HTTP takes its time

                EmbedStep(
                    database,
                    partial(sessions, writers, number),
                    self._url,
                    ChunksOfRun(collection_id, last_chunks.get(number, 0)),
                    self.report,
                    self._start_bar,
                ).run()

    def _seal(self, connection: Connection) -> None:
        """Seal what the last batches left; a failure is a warning, and lexical_status keeps it."""
        try:
            connection.execute("SELECT blend.lexical_seal(%s)", [self._request.collection])
        except psycopg.Error as error:
            if error.sqlstate != _FOR_THE_OWNER:
                raise
            self.report.degrade(
                "sealing",
                "on a server without PL/Python only the database's owner seals; words are found",
                "keep running, as the owner: pgblend worker",
            )

    def _unknown_languages(self, databases: Iterable[Connection]) -> set[Unknown]:
        """Return the languages that no database's model knows."""
        found = (unknown_languages(one, self._request.collection) for one in databases)
        return {*chain.from_iterable(found)}

    def _forecast(self, connection: Connection, report: Report, summaries: bool) -> None:
        """Put down what a run that was counted only would cost and take."""
        from pgblend.cli.embed.space_plan import forecast  # HTTP takes its time

        found = forecast(connection, report, summaries, embeds=self._request.embed)
        report.cost_usd, report.hours = found.embedding_usd, found.hours
        report.vision_usd, report.summary_usd = found.vision_usd, found.summary_usd
        if found.unpriced and missing("gateway"):
            report.degrade(
                "cost",
                f"the price of {', '.join(found.unpriced)} is not known: there is no list of "
                "prices here",
                f"it comes with litellm: {how_to_install('gateway')}",
            )

    def _tell_ahead(
        self,
        stores: Stores,
        collection: CollectionInfo,
        files: list[SourceFile],
        config: ParserConfig,
    ) -> None:
        """Before much is read, say what it takes: a sample of the files is counted as a dry run."""
        size = sum(file.size for file in files)
        if size < _LARGE_BYTES or not self._request.embed:
            return
        some = sample_files(files)
        counted = Report(self._request.collection, dry_run=True)
        with Stores(self._url) as own:  # remembers which keys it was asked for
            Pipeline(
                Destination(self._request.collection, collection.id, own, writers=()),
                config=replace(config, dry_run=True),
                report=counted,
                advance=lambda size: None,
                describe=lambda picture: {},
            ).run(some)
        if not counted.chunks and not counted.pictures:
            return
        counted.scale(size / max(sum(file.size for file in some), 1))
        self._forecast(stores.front, counted, collection.summaries)
        if expected := counted.expected():
            told = f"by {len(some)} of {len(files):,} files, before it begins: "
            click.echo(f"pgblend: {told}{', '.join(expected)}", err=True)

    def _find_entities(self, connection: Connection) -> None:
        """Have a model find entities; what it fails with is told, and the text stays findable."""
        from pgblend.cli.graph.entities import run_entities

        try:
            done = run_entities(connection, self._request.collection)
        except UserError as error:
            self.report.degrade("entities", error.message, error.hint or "")
            return
        self.report.refused += len(done.failures)
        if done.failures:
            self.report.degrade(
                "entities",
                f"the model failed with {len(done.failures)} texts: {done.failures[0]}",
                "run this again: what is missing is remembered",
            )

    def _collection(self, connection: Connection) -> CollectionInfo:
        """Read the collection, and make it where there is none."""
        name = self._request.collection
        collection = read_collection(connection, name)
        if collection.id is None and not self._request.dry_run:
            text_config = self._request.text_config or "english"
            if _make_collection(connection, name, text_config):
                click.echo(f"pgblend: made collection {name!r} ({text_config})", err=True)
                push_changes(connection)
            collection = read_collection(connection, name)
        if collection.id is not None and self._request.text_config is not None:
            _check_text_config(connection, name, self._request.text_config)
        return collection

    def _store(
        self,
        stores: Stores,
        writers: Sequence[Stores],
        collection: CollectionInfo,
        files: list[SourceFile],
        configurations: Sequence[str],
    ) -> None:
        request = self._request
        vision_model, gateway_url = (
            get_setting(stores.front, name) for name in ("vision_model", "gateway_url")
        )
        config = ParserConfig(
            collection.chunk_settings,
            request.language,
            configurations,
            dict(request.fields.names),
            request.dry_run,
            request.sync,
            request.limits,
            how_to_read(vision_model, gateway_url),
            None if request.roots is None else list(map(str, request.roots)),
        )
        pipeline = Pipeline(
            Destination(
                self._request.collection,
                collection.id,
                reader=stores,
                writers=() if self._request.dry_run else writers,
            ),
            config=config,
            report=self.report,
            advance=self._start_bar("Reading", sum(file.size for file in files), BYTES),
            describe=Vision(gateway_url or "", vision_model or "").describe,
        )
        pipeline.check_keys(files)
        if not request.dry_run and not request.resume:
            self._tell_ahead(stores, collection, files, config)
        pipeline.run(pipeline.without_stored(files) if request.resume else files)


def sample_files(files: Sequence[SourceFile]) -> list[SourceFile]:
    """Return some files that stand for all, always the same: any is as likely as another."""
    chosen: list[SourceFile] = []
    size = 0
    for file in Random(0).sample(list(files), min(len(files), _SAMPLED_FILES)):
        if chosen and size + file.size > _SAMPLED_BYTES:
            continue
        chosen.append(file)
        size += file.size
    return chosen


def _make_collection(connection: Connection, name: str, text_config: str) -> bool:
    """Make a collection; False where another session has made it meanwhile."""
    try:
        connection.execute("SELECT blend.add_collection(%s, %s)", [name, text_config])
    except Exception as error:
        if getattr(error, "sqlstate", "") != _DUPLICATE_OBJECT:
            raise
        return False
    return True


def _check_text_config(connection: Connection, name: str, asked: str) -> None:
    """Refuse another text search configuration than the collection has."""
    row = connection.execute(
        "SELECT text_search_config FROM blend.collections WHERE name = %s", [name]
    ).fetchone()
    if row and row[0] != asked:
        raise UserError(
            f"collection {name!r} has the text search configuration {row[0]!r}, not {asked!r}",
            hint="leave --text-config out, or ingest into another collection",
        )
