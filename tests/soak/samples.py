"""Samples of what may grow: memory and files of processes, connections, sizes of tables."""

import re
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg

from soak.run import Run
from soak.session import Session

MB = 1 << 20
# What is kept on purpose, a row a call or search, for as many days as the gateway was told.
LOGS = ("search_log", "model_call", "model_answer")
_TABLES = """
    SELECT c.relname, pg_total_relation_size(c.oid)
    FROM pg_class AS c INNER JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = 'pgblend_data' AND c.relkind = 'r'
"""
_CATALOGUE = """
    SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class AS c
    WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind = 'r'
"""
_COUNTS = """
    SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
        (SELECT coalesce(sum(segments), 0)::bigint FROM lexical_status()),
        (SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables)
"""

# PostgreSQL itself keeps up to max_files_per_process of these open, as spaces come and go.
_RELATION = re.compile(r"/(base/\d+|global)/[^/]+$")

Series = dict[str, list[tuple[float, float]]]  # by name: seconds of the run, and the value


def open_files(pid: int) -> int:
    """Count the open files, sockets and pipes of a process, without files of relations."""
    names = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            names.append(str(link.readlink()))
    return sum(_RELATION.search(name) is None for name in names)


class Sampler:
    """Takes samples in a thread of its own until the run ends."""

    def __init__(self, run: Run, every_seconds: float) -> None:
        self._run = run
        self._every = every_seconds
        self._session = Session(run.site.url())
        self.memory: Series = defaultdict(list)  # MB that are a process's own
        self.proportional: Series = defaultdict(list)  # MB with its part of what is shared
        self.files: Series = defaultdict(list)
        self.sizes: Series = defaultdict(list)  # MB of tables
        self.counts: Series = defaultdict(list)
        self.thread = threading.Thread(target=self._sample_on)

    def _sample_on(self) -> None:
        try:
            while not self._run.ended.wait(self._every):
                self.take()
        except Exception as error:  # else growth would go unseen
            self._run.findings.problem(f"no more samples were taken: {error!r}")
            raise
        finally:
            self._session.close()

    def take(self) -> None:
        """Take one sample of everything."""
        now = self._run.findings.now
        for name, process in self._processes():
            try:
                memory, files = process.memory_full_info(), open_files(process.pid)
            except (psutil.Error, OSError):  # it has ended
                continue
            self.memory[name].append((now, memory.uss / MB))
            self.proportional[name].append((now, memory.pss / MB))
            self.files[name].append((now, files))
        try:
            self._take_sizes(now)
        except psycopg.OperationalError:  # the server is away
            self._session.close()

    def _take_sizes(self, now: float) -> None:
        tables = dict(self._session.rows(_TABLES))
        for name, size in tables.items():
            if size is None:  # it was dropped meanwhile
                continue
            # Spaces come and go: their tables are one.
            shown = "embedding_SPACE" if self._is_space(name) else name
            self._add(self.sizes, shown, now, size / MB)
        self._add(self.sizes, "catalogue", now, self._session.rows(_CATALOGUE)[0][0] / MB)
        names = ("connections", "segments", "dead rows")
        for name, value in zip(names, self._session.rows(_COUNTS)[0], strict=True):
            self._add(self.counts, name, now, value)

    @staticmethod
    def _is_space(name: str) -> bool:
        return name.removeprefix("embedding_") in ("blue", "green")

    @staticmethod
    def _add(series: Series, name: str, now: float, value: float) -> None:
        """Add a value; of one moment the sum is kept."""
        values = series[name]
        if values and values[-1][0] == now:
            value += values.pop()[1]
        values.append((now, value))

    def _processes(self) -> Iterator[tuple[str, psutil.Process]]:
        """Yield each process by a name of its own: what it is, and its number."""
        site = self._run.site
        roots = {"gateway": site.gateway.pid, "serve": site.door.pid, "pgbouncer": site.pooler}
        if site.worker is not None:
            roots["worker"] = site.worker.pid
        for name, pid in roots.items():
            yield from _named(name, pid)
        postmaster = site.cluster.postmaster
        if postmaster is not None:
            yield from _named("postmaster", postmaster.pid)
            try:
                children = psutil.Process(postmaster.pid).children()
            except psutil.Error:
                return
            for child in children:
                yield from _named(_backend_name(child), child.pid)


def _named(name: str, pid: int) -> Iterator[tuple[str, psutil.Process]]:
    try:
        yield f"{name} {pid}", psutil.Process(pid)
    except psutil.Error:  # it has ended
        return


def _backend_name(process: psutil.Process) -> str:
    """Return what a process of the server is: `session of ROLE`, or its own name."""
    try:
        title = " ".join(process.cmdline())
    except psutil.Error:
        return "ended"
    words = title.removeprefix("postgres: ").removeprefix("pgblend: ").split()  # its cluster_name
    is_session = "(" in title
    return f"session of {words[0]}" if is_session and words else " ".join(words[:2])
