"""Which answers a turn needs, by what turns like it needed: then nothing has to be gathered.

Turns are alike where only literals and bound values differ. A wrong guess costs time alone: what is
told answers the very call that it was made for.
"""

import hashlib
import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from pgblend.cli.base.extras import missing
from pgblend.cli.doors.wire import messages as wire
from pgblend.plpy.base.session import keep_value

_MOST_KEPT = 100  # kinds of turns
_LONGEST = 1 << 16  # bytes of a turn
_LITERAL = re.compile(rb"'([^']*(?:''[^']*)*)'")


@cache
def _libraries() -> tuple[Any, Any] | None:
    """Return numpy and orjson; without them no vector is foreseen, and is asked for as before."""
    if missing("gateway"):
        return None
    import numpy as np
    import orjson

    return np, orjson


class _Value(NamedTuple):
    """A literal, or what is bound to a parameter."""

    data: bytes | None
    is_binary: bool = False

    def text(self) -> str | None:
        """Return it as a text; binary texts are the same bytes."""
        try:
            return None if self.data is None else self.data.decode()
        except UnicodeDecodeError:
            return None

    def vector(self) -> str | None:
        """Return the text that PostgreSQL writes of a vector; None where it is none."""
        data = self.data or b""
        if (libraries := _libraries()) is None:
            return None
        np, orjson = libraries
        with suppress(TypeError, ValueError):  # other JSON than numbers
            if data.startswith(b"[") and data.endswith(b"]"):
                numbers = np.array(orjson.loads(data), dtype=np.float32)
            elif (
                self.is_binary and len(data) > 4 and len(data) == 4 + 4 * (data[0] * 256 + data[1])
            ):
                numbers = np.frombuffer(data, ">f4", offset=4).astype(np.float32)
            else:
                return None
            if numbers.ndim != 1:
                return None
            text = orjson.dumps(numbers, option=orjson.OPT_SERIALIZE_NUMPY).decode()
            texts = text[1:-1].split(",")
            for place in np.flatnonzero((abs(numbers) < 1e-4) | (numbers == numbers.round())):
                texts[place] = _written(texts[place])
            return f"[{','.join(texts)}]"
        return None


def _written(number: str) -> str:
    """Return a small or a whole number, as orjson writes it, as PostgreSQL does."""
    digits = number.partition("e")[0].removesuffix(".0").replace(".", "").lstrip("-0")
    return format(float(number), f".{max(1, len(digits))}g")


class _Slot(NamedTuple):
    """The place of a value that a call has, as a text or as a vector."""

    place: int
    is_vector: bool

    def filled(self, values: Sequence[_Value]) -> str:
        value = values[self.place]
        return _quoted((value.vector() if self.is_vector else value.text()) or "")


_Template = tuple[str | _Slot, ...]


class _Needed(NamedTuple):
    """What a turn needed, and whether that was foreseen."""

    values: tuple[_Value, ...]
    calls: tuple[_Template, ...]
    is_sure: bool

    def filled(self, values: tuple[_Value, ...]) -> list[str]:
        """Return the calls of a turn with other values; none where these mean something else."""
        taken = {one.place for call in self.calls for one in call if isinstance(one, _Slot)}
        same = len(values) == len(self.values) and all(
            place in taken or new == old
            for place, (new, old) in enumerate(zip(values, self.values, strict=True))
        )
        return ["".join(_parts(call, values)) for call in self.calls] if same else []


class ExpectedCalls:
    """What the turns of a session needed."""

    def __init__(self) -> None:
        self._needed: dict[bytes, _Needed] = {}

    def of(self, requests: Sequence[bytes]) -> list[str]:
        """Return the calls that a turn needs; none where the last one like it was not foreseen."""
        key, values = _cut(requests)
        needed = self._needed.get(key)
        return needed.filled(values) if needed and needed.is_sure else []

    def note(self, requests: Sequence[bytes], calls: list[str]) -> None:
        """Keep what a turn needed."""
        if sum(map(len, requests)) > _LONGEST:
            return
        key, values = _cut(requests)
        before = self._needed.get(key)
        is_sure = before is not None and before.filled(values) == calls
        templates = before.calls if before and is_sure else _templates(calls, values)
        keep_value(self._needed, key, _Needed(values, templates, is_sure), _MOST_KEPT)

    def forget(self, requests: Sequence[bytes]) -> None:
        """Note that a turn needed something else than was foreseen."""
        self._needed.pop(_cut(requests)[0], None)


def _cut(requests: Sequence[bytes]) -> tuple[bytes, tuple[_Value, ...]]:
    """Return a digest of what is alike in turns, and their values."""
    digest = hashlib.blake2b(digest_size=16)
    values: list[_Value] = []
    for request in requests:
        kind = request[:1]
        if kind == wire.QUERY:
            parts = _LITERAL.split(request[5:])
            values += (_Value(one.replace(b"''", b"'")) for one in parts[1::2])
            digest.update(b"''".join(parts[::2]))
        elif kind == wire.BIND:
            digest.update(b"\0".join(wire.texts_of(request[5:], 2)))
            values += _bound(request)
        else:
            digest.update(request)
    return digest.digest(), tuple(values)


def _bound(bind: bytes) -> Iterator[_Value]:
    """Yield the values of a Bind; where each has no format of its own, the last is that of all."""
    at = bind.index(b"\0", bind.index(b"\0", 5) + 1) + 1
    (count,) = struct.unpack_from("!h", bind, at)
    formats = struct.unpack_from(f"!{count}h", bind, at + 2) or (0,)
    at += 2 + 2 * count
    (count,) = struct.unpack_from("!h", bind, at)
    at += 2
    for place in range(count):
        (length,) = struct.unpack_from("!i", bind, at)
        at += 4
        is_binary = bool(formats[min(place, len(formats) - 1)])
        yield _Value(None if length < 0 else bind[at : at + length], is_binary)
        at += max(length, 0)


def _templates(calls: Sequence[str], values: Sequence[_Value]) -> tuple[_Template, ...]:
    slots: dict[str, _Slot] = {}
    for place, value in enumerate(values):
        for is_vector, text in enumerate((value.text(), value.vector())):
            if text is not None:
                slots.setdefault(_quoted(text), _Slot(place, bool(is_vector)))
    return tuple(tuple(_cut_call(call, slots)) for call in calls)


def _cut_call(call: str, slots: Mapping[str, _Slot]) -> list[str | _Slot]:
    parts: list[str | _Slot] = [call]
    for text, slot in slots.items():
        for place in range(len(parts) - 1, -1, -1):
            if isinstance(one := parts[place], str):
                pieces = [each for piece in one.split(text) for each in (slot, piece)]
                parts[place : place + 1] = pieces[1:]
    return parts


def _parts(call: _Template, values: Sequence[_Value]) -> Iterator[str]:
    for one in call:
        yield one if isinstance(one, str) else one.filled(values)


def _quoted(text: str) -> str:
    """Return a text as PostgreSQL writes it in JSON."""
    return json.dumps(text, ensure_ascii=False)
