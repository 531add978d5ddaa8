"""`pgblend` as a process that may be killed."""

import subprocess
import time

from soak.run import Run
from soak.session import AwayError
from soak.site import pgblend
from support.waiting import SOON_SECONDS

DATABASE_AWAY = 3  # exit code


def run_command(run: Run, arguments: list[str], kill_after: float | None) -> bool:
    """Run `pgblend ARGUMENTS`; kill -9 after so many seconds. Tell whether it ended by itself."""
    process = subprocess.Popen(
        [*pgblend(run.site.url()), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, errors = process.communicate(timeout=kill_after or 10 * SOON_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        if kill_after is None:
            raise RuntimeError(f"pgblend {arguments[0]} hangs") from None
        return False
    if "Traceback" in errors:
        raise RuntimeError(f"pgblend {arguments[0]}: {errors}")
    if process.returncode == DATABASE_AWAY:
        time.sleep(0.5)
        raise AwayError(errors)
    if process.returncode:
        raise RuntimeError(f"pgblend {arguments[0]}: exit code {process.returncode}: {errors}")
    return True
