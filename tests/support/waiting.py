"""Waiting for what other processes and threads do."""

import subprocess
import time
from collections.abc import Callable

# Far more than a busy machine takes to end a call, far less than a call that hangs.
SOON_SECONDS = 30


def wait_until(
    reached: Callable[[], object],
    seconds: float = 180,
    process: subprocess.Popen[str] | None = None,
) -> None:
    """Wait until something is so; too late, or after the end of the process that does it, fail.

    Loading a model has taken more than a minute on a busy machine.
    """
    deadline = time.monotonic() + seconds
    while not reached():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.01)
