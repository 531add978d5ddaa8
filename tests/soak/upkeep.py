"""Upkeep: seals, rebuilds, vacuum, and vectors made anew in a second space."""

import random
import time

from psycopg.errors import ObjectInUse, ObjectNotInPrerequisiteState

from soak.commands import run_command
from soak.run import Run
from soak.session import Session
from soak.site import COLLECTIONS, DIMENSIONS

SPACES = ("blue", "green")
SWITCH_TRIES = 10
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'pgblend_data' ORDER BY 1"


def keep(run: Run, session: Session, chance: random.Random) -> str:
    """Seal, rebuild, vacuum or analyse."""
    collection = chance.choice(COLLECTIONS)
    action = chance.choice(["seal", "seal", "seal all", "rebuild", "vacuum", "analyse"])
    if action == "seal":
        session.rows("SELECT lexical_seal(%s)", collection)
    elif action == "seal all":
        session.rows("SELECT lexical_seal()")
    elif action == "rebuild":
        session.rows("SELECT lexical_rebuild(%s)", collection)
    else:
        table = chance.choice([name for (name,) in session.rows(_TABLES)])
        session.rows(f"{'VACUUM' if action == 'vacuum' else 'ANALYZE'} pgblend_data.{table}")
    return action


class Renewer:
    """Makes all vectors anew: makes another space, fills it, switches to it, drops the old one."""

    def __init__(self) -> None:
        self._target = ""  # the space that is filled; empty where none is

    def step(self, run: Run, session: Session, chance: random.Random) -> str:
        """Go one step on, from what there is."""
        found = dict(session.rows("SELECT name, active FROM embedding_spaces"))
        idle = [name for name, active in found.items() if not active]
        if not idle:
            self._target = next(name for name in SPACES if name not in found)
            statement = "SELECT create_embedding_space(%s, %s, %s, active => false)"
            session.rows(statement, self._target, run.site.provider.model, DIMENSIONS)
            return "space made"
        if idle[0] != self._target:
            session.rows("SELECT drop_embedding_space(%s)", idle[0])
            return "space dropped"
        kill_after = chance.uniform(0.5, 4) if chance.random() < 0.3 else None
        if not run_command(run, ["space", "fill", self._target], kill_after):
            return "space fill killed"
        self._switch(session)
        self._target = ""
        return "space switched"

    def _switch(self, session: Session) -> None:
        """Switch once all chunks have a vector, or without the last ones: writers go on."""
        for _ in range(SWITCH_TRIES):
            try:
                session.rows("SELECT switch_embedding_space(%s)", self._target)
                return
            except (ObjectNotInPrerequisiteState, ObjectInUse):
                time.sleep(0.5)
        session.rows("SELECT switch_embedding_space(%s, true)", self._target)
