"""Minutes of readers, writers, upkeep and faults: `make soak`, or in tests/ `python -m soak`.

    python -m soak [--minutes 30] [--seed N] [--output ../build/soak]

Everything is a real process on a server made for it. Answers are held against a record of what was
committed. report.md, soak.png and samples.json are written; the exit code is 1 where something was
lost, found twice, out of order or too late, where a client met an error that no fault explains, and
where memory, files or tables grow. Needs pgbouncer.
"""

import argparse
import random
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

from soak import report
from soak.checkpoint import check
from soak.faults import Breaker
from soak.readers import HttpReader, read_sql
from soak.run import Actor, Run
from soak.samples import Sampler
from soak.session import Session
from soak.site import READER, WRITER, open_site
from soak.upkeep import Renewer, keep
from soak.writers import KILLED, Ingester, Writer

OUTPUT = Path(__file__).resolve().parents[2] / "build" / "soak"
SAMPLES = 400
CHECKPOINTS = 10
LEAST_CHECK_SECONDS = 20
FILLING_STEPS = 60  # of each writer, at the beginning


def main() -> int:
    """Run a soak; return the exit code."""
    given = _options()
    given.output.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, _interrupt)
    print(f"seed {given.seed}, {given.minutes:g} minutes", flush=True)
    with open_site(given.output) as site:
        run = Run(site, given.minutes * 60)
        sampler = Sampler(run, max(1.0, run.seconds / SAMPLES))
        soak(run, sampler, given.seed)
        for line in site.damage():
            run.findings.problem(f"the server's log: {line}")
        for name, text in site.logs().items():
            if "Traceback" in text:
                run.findings.problem(f"{name} has a traceback, see its log")
                (given.output / f"{name}.log").write_text(text)
    kinds = report.watched(sampler)
    for line in report.what_grows(kinds):
        run.findings.problem(line)
    print(report.write(given.output, given.seed, run.findings, kinds))
    return 1 if run.findings.problems else 0


def soak(run: Run, sampler: Sampler, seed: int) -> None:
    """Let all act until the time is over, and check everything now and then, and at the end."""
    ingester, writers = Ingester(), [Writer("a"), Writer("b")]
    readers = [HttpReader(run), HttpReader(run)]
    actors = _actors(run, ingester, writers, readers)
    session = Session(run.site.url())
    _fill(run, session, ingester, writers, random.Random(seed))
    threads = [threading.Thread(target=actor.act, args=[run, seed]) for actor in actors]
    for thread in [*threads, sampler.thread]:
        thread.start()
    try:
        pause = max(LEAST_CHECK_SECONDS, run.seconds / CHECKPOINTS)
        number = 0
        while run.share < 1:
            run.ended.wait(min(pause, run.seconds - run.findings.now))
            number += 1
            with run.gate.closed():
                session.close()  # a fault may have ended it
                checker = Actor("checker", run.site.url(), check, 0, begun=run.findings.now)
                checker.once(run, session, random.Random(f"{seed} check {number}"))
                run.site.provider.reset()  # it keeps what it was asked
    finally:
        run.ended.set()
        for thread in [*threads, sampler.thread]:
            thread.join()
        ingester.close()
        session.close()
        for reader in readers:
            reader.close()


def _fill(
    run: Run, session: Session, ingester: Ingester, writers: list[Writer], chance: random.Random
) -> None:
    """Write what is there at the beginning, and wait for its vectors; then the time begins."""
    for writer in writers:
        for _ in range(FILLING_STEPS):
            writer.step(run, session, chance)
    while ingester.step(run, session, chance) == KILLED:
        pass
    check(run, session, chance)
    run.findings.restart()


def _actors(
    run: Run, ingester: Ingester, writers: list[Writer], readers: list[HttpReader]
) -> list[Actor]:
    """Return who acts: the one session of each goes through pgbouncer, but for admins."""
    reader, pooled = (run.site.url(role, run.site.pooled_port) for role in (READER, WRITER))
    admin = run.site.url()
    fault_seconds = max(6.0, run.seconds / 20)
    return [
        *(
            Actor(f"writer {name}", pooled, each.step, 0.4)
            for name, each in zip("ab", writers, strict=True)
        ),
        *(Actor(f"reader {name}", reader, read_sql, 0.3) for name in "abc"),
        *(
            Actor(f"caller {name}", reader, each.step, 0.3)
            for name, each in zip("ab", readers, strict=True)
        ),
        Actor("ingester", pooled, ingester.step, 4),
        Actor("keeper", admin, keep, 2),
        Actor("renewer", admin, Renewer().step, 4),
        Actor("breaker", admin, Breaker().step, fault_seconds),
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--output", type=Path, default=OUTPUT)
    return parser.parse_args()


def _interrupt(number: int, frame: FrameType | None) -> None:
    """End as Ctrl-C does: everything that was started is stopped."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
