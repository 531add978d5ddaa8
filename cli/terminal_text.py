"""Text of others on its way to a terminal: it is shown, and steers nothing."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

# Characters that turn the direction of what follows, so that it reads as something else.
BIDIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_STEERING = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{BIDIRECTIONAL}]")
_TURNING = re.compile(rf"[{BIDIRECTIONAL}]")


def shown(text: str) -> str:
    r"""Write what would steer a terminal as \u001b, which is the same in a text of JSON."""
    return _STEERING.sub(_escaped, text)


def turned_shown(text: str) -> str:
    r"""Write what turns the direction of a text as \u202e."""
    return _TURNING.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


class _Shown:
    """A text stream that shows what would steer a terminal; `trusted` is the stream itself."""

    def __init__(self, stream: TextIO) -> None:
        self.trusted = stream

    def write(self, text: str) -> int:
        self.trusted.write(shown(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.trusted, name)


@contextmanager
def terminal_is_safe() -> Iterator[None]:
    """Let standard error, and standard output where it is a terminal, show what would steer it.

    What is written to a file or a program is data, and stays as it is.
    """
    before = sys.stdout, sys.stderr
    sys.stderr = cast(TextIO, _Shown(sys.stderr))
    if sys.stdout.isatty():
        sys.stdout = cast(TextIO, _Shown(sys.stdout))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def trusted(err: bool) -> TextIO:
    """Return standard output or error for our own colours; the texts in them are made safe."""
    stream = sys.stderr if err else sys.stdout
    return getattr(stream, "trusted", stream)
