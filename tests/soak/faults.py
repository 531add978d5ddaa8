"""Faults: sessions that end, kill -9 of a session, of the worker and of the whole server.

PostgreSQL answers the death of one session with a restart of all.
"""

import os
import random
import signal
import time

import psycopg

from soak.run import Run
from soak.session import Session
from soak.site import READER
from support.server import kill_server
from support.waiting import wait_until

STORM = 0.6  # share of the run in which they come; after that memory is watched in peace
BACK_SECONDS = 120
_SESSIONS = """
    SELECT pid FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


class Breaker:
    """Breaks one thing after the other, each as often, in an order of chance."""

    def __init__(self) -> None:
        self._next: list[str] = []

    def step(self, run: Run, session: Session, chance: random.Random) -> str:
        """Break something, and wait until clients are served again."""
        if run.share > STORM:
            run.ended.wait(1)
            return "quiet"
        if not self._next:
            self._next = ["end a session", "kill a session", "kill the worker", "kill the server"]
            chance.shuffle(self._next)
        name = self._next.pop()
        with run.findings.breaking(name):
            self._break(name, run, session, chance)
            wait_until(lambda: is_served(run), BACK_SECONDS)
        return name

    @staticmethod
    def _break(name: str, run: Run, session: Session, chance: random.Random) -> None:
        if name == "kill the worker":
            run.site.stop_worker()
            run.site.start_worker()
        elif name == "kill the server":
            session.close()
            kill_server(run.site.cluster)
            run.site.start_server()
        else:
            pid = chance.choice([pid for (pid,) in session.rows(_SESSIONS)])
            if name == "end a session":
                session.rows("SELECT pg_terminate_backend(%s)", pid)
            else:
                os.kill(pid, signal.SIGKILL)
                wait_until(lambda: is_ended(session), BACK_SECONDS)  # with all the others


def is_ended(session: Session) -> bool:
    """Tell whether the server has ended a session."""
    try:
        session.rows("SELECT 1")
    except psycopg.OperationalError:
        session.close()
        return True
    return False


def is_served(run: Run) -> bool:
    """Tell whether a search works by pgbouncer and by serve."""
    probe = Session(run.site.url(READER, run.site.pooled_port))
    try:
        probe.rows("SELECT count(*) FROM lexical_search('anything')")
        with run.site.door.client(run.site.token) as client:
            return client.post("/v1/search", json={"query": "anything"}).is_success
    except psycopg.Error:
        time.sleep(0.3)
        return False
    finally:
        probe.close()
