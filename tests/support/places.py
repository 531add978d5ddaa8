"""The places for model calls of a database's server, which are locks on files of its account."""

from support.database import Database

_FUNCTION = """
CREATE OR REPLACE FUNCTION pg_temp.locked_places(keep boolean) RETURNS bigint
LANGUAGE plpython3u AS $python$
import fcntl
import os

folder = plpy.execute(
    "SELECT current_setting('data_directory') || '/pgblend_model_calls' AS path,"
    " (SELECT oid FROM pg_database WHERE datname = current_database())::text AS database")[0]
os.makedirs(folder["path"], mode=0o700, exist_ok=True)
if keep:
    open(os.path.join(folder["path"], folder["database"] + ".0"), "a").close()
    os.chmod(os.path.join(folder["path"], folder["database"] + ".0"), 0o600)
locked = 0
for name in os.listdir(folder["path"]):
    if name.startswith(folder["database"] + "."):
        file = os.open(os.path.join(folder["path"], name), os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            locked += 1
        if keep:
            GD.setdefault("kept_places", []).append(file)
        else:
            os.close(file)
return locked
$python$
"""


def places_taken(db: Database) -> int:
    """How many model calls of the database run, by the locks that are held; a superuser asks."""
    db.rows(_FUNCTION)
    return int(db.value("SELECT pg_temp.locked_places(false)"))


def take_places(db: Database) -> None:
    """Hold the first place, and all that were used before, until the session ends."""
    db.rows(_FUNCTION)
    assert db.value("SELECT pg_temp.locked_places(true)") == 0
