"""One run: who acts in it, each in a thread of its own, until its time is over."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from soak.findings import Findings
from soak.gate import Gate
from soak.record import Record
from soak.session import RETRIED, Session, is_lost
from soak.site import Site


@dataclass
class Run:
    """What all threads share."""

    site: Site
    seconds: float
    findings: Findings = field(default_factory=Findings)
    record: Record = field(default_factory=Record)
    gate: Gate = field(default_factory=Gate)
    ended: threading.Event = field(default_factory=threading.Event)
    gone: list[str] = field(default_factory=list)  # words that only deleted texts had

    @property
    def share(self) -> float:
        """How much of the time is over, from 0 to 1."""
        return self.findings.now / self.seconds


# What somebody does once, by chance; it returns what it did.
Step = Callable[[Run, Session, random.Random], str]


@dataclass
class Actor:
    """Who takes a step again and again: on a session of this URL, resting so long at most."""

    name: str
    url: str
    step: Step
    rest_seconds: float
    begun: float = 0.0  # when its last step began: what broke since then may have cut its session

    def act(self, run: Run, seed: int) -> None:
        """Act until the run ends."""
        chance = random.Random(f"{seed} {self.name}")
        session = Session(self.url)
        while not run.ended.wait(chance.uniform(0, self.rest_seconds)):
            with run.gate.inside():
                if not run.ended.is_set():
                    self.once(run, session, chance)
        session.close()

    def once(self, run: Run, session: Session, chance: random.Random) -> None:
        """Take one step, and note what became of it."""
        begin, self.begun = self.begun, run.findings.now
        try:
            run.findings.count(self.step(run, session, chance))
        except RETRIED as error:
            told = (error.diag.message_primary, error.diag.message_detail, error.diag.context)
            run.findings.note_retried(f"{self.name}: {' | '.join(filter(None, told))}")
        except Exception as error:
            if is_lost(error):
                session.close()
            if is_lost(error) and run.findings.was_broken_since(begin):
                run.findings.excuse(f"{self.name}: {type(error).__name__}")
            else:
                run.findings.problem(f"{self.name}: {type(error).__name__}: {error}")
