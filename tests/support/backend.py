"""What a server process holds: threads beside the main one, and sockets."""

from support.database import Database

# The pause lets a thread that was told to end do so.
_FUNCTION = """
CREATE OR REPLACE FUNCTION pg_temp.held() RETURNS integer[] LANGUAGE plpython3u AS $python$
import os, threading, time
for _ in range(200):
    if threading.active_count() == 1:
        break
    time.sleep(0.01)
paths = ["/proc/self/fd/" + entry for entry in os.listdir("/proc/self/fd")]
links = [os.readlink(path) for path in paths if os.path.islink(path)]
return [threading.active_count() - 1, sum(link.startswith("socket:") for link in links)]
$python$
"""


def held(db: Database) -> tuple[int, int]:
    """Return how many threads and sockets the session's server process holds."""
    db.rows(_FUNCTION)
    threads, sockets = db.value("SELECT pg_temp.held()")
    return threads, sockets
