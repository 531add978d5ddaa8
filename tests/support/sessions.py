"""Many sessions at once, each of which does one thing again and again."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

import psycopg
from psycopg.errors import DeadlockDetected, LockNotAvailable, SerializationFailure

from pgblend.cli.base.database import connect

# What a session does once, by chance; it returns what it did.
Step = Callable[[psycopg.Connection, random.Random], str]


def run_sessions(url: str, steps: Sequence[Step], seconds: float, least: int) -> Counter[str]:
    """Give each step a session, which takes it for so long, and so often at least.

    Returns how often each thing was done, and the errors that a session may run into beside others
    by their names. Any other error ends all, and is raised.
    """
    done = Counter[str]()
    failures: list[BaseException] = []
    ready = threading.Barrier(len(steps))

    def work(seed: int, step: Step) -> None:
        chance = random.Random(seed)
        left = least
        try:
            with connect(url) as own:
                ready.wait()
                end = time.monotonic() + seconds
                while (left > 0 or time.monotonic() < end) and not failures:
                    try:
                        done[step(own, chance)] += 1
                        left -= 1
                    except (DeadlockDetected, LockNotAvailable, SerializationFailure) as error:
                        done[type(error).__name__] += 1
        except BaseException as error:
            failures.append(error)
            ready.abort()

    threads = [threading.Thread(target=work, args=each) for each in enumerate(steps)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return done
