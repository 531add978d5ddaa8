"""What a client's message may do, by its text: so far as the door has to know."""

import re

from pgblend.cli.doors.wire import messages as wire

# A savepoint before one of these would stand in its way, or it cannot be taken back.
_CONTROLS = re.compile(
    rb"(?:^|;)\s*(?:begin|start|commit|end|rollback|abort|savepoint|release|prepare|deallocate"
    rb"|set\s+(?:local\s+)?(?:transaction|session))\b",
    re.IGNORECASE,
)
_SAVEPOINTS = re.compile(
    rb"\s*(?:(?:release(?:\s+savepoint)?|savepoint)\s+(?:\w+|\"[^\"]*\")\s*;\s*)+(?=\S)",
    re.IGNORECASE,
)
_QUOTED = re.compile(rb"\$(\w*)\$.*?\$\1\$|'[^']*'", re.DOTALL)
# An answer is made before the message that asks. What else this may set, the answer would not know;
# role, groups and purpose are told with the call (sql/outside.py).
_SETS = re.compile(
    rb"(?:^|;)\s*(?:set|reset|discard)\b|\bset_config\s*\(\s*(?!'(?:role|pgblend\.groups"
    rb"|pgblend\.purpose)')",
    re.IGNORECASE,
)
_DECLARES = re.compile(
    rb"^\s*declare\s+(?:\w+|\"[^\"]*\")\s+(?:(?:binary|insensitive|asensitive|no|scroll)\s+)*"
    rb"cursor\s+(?:(with|without)\s+hold\s+)?for\s+",
    re.IGNORECASE,
)


def statement_of(request: bytes) -> bytes:
    """Return the text of a message that has one, else nothing."""
    match request[:1]:
        case wire.QUERY:
            return request[5:-1]
        case wire.PARSE:
            return wire.texts_of(request[5:], 2)[1]
    return b""


def controls(request: bytes) -> bool:
    """Whether a message begins or ends transactions or savepoints."""
    return bool(_CONTROLS.search(_QUOTED.sub(b"''", statement_of(request))))


def without_savepoints(request: bytes) -> tuple[bytes, bytes]:
    """Return the savepoints that a query begins with, and the rest, as queries; else nothing."""
    found = _SAVEPOINTS.match(request, 5) if request[:1] == wire.QUERY else None
    if found is None:
        return b"", b""
    first, rest = found[0] + b"\0", request[found.end() :]
    return wire.message(wire.QUERY, first), wire.message(wire.QUERY, rest)


def sets_before(request: bytes) -> bool:
    """Whether a message changes settings."""
    return bool(_SETS.search(statement_of(request)))


def takes_unnamed(request: bytes) -> bool:
    """Whether a message takes the statement without a name."""
    match request[:1]:
        case wire.BIND:
            return not wire.texts_of(request[5:], 2)[1]
        case wire.DESCRIBE:
            return request[5:7] == b"S\0"
    return False


def declares(request: bytes) -> bool:
    """Whether a message declares a cursor that ends with its transaction."""
    found = _DECLARES.match(statement_of(request))
    return found is not None and (found[1] or b"").lower() != b"with"


def in_full(request: bytes) -> bytes:
    """Return a message that has at once what this one brings bit by bit: of a cursor, a portal."""
    kind = request[:1]
    if kind == wire.EXECUTE:
        return request[:-4] + bytes(4)
    found = _DECLARES.match(statement_of(request))
    if found is None:
        return request
    at = 0 if kind == wire.QUERY else request.index(b"\0", 5) - 4
    body = request[5:]
    return wire.message(kind, body[:at] + body[at + found.end() :])


def is_bit_by_bit(request: bytes) -> bool:
    """Whether answers are needed after a message: by a cursor, or a portal that gives some rows."""
    limited = request[:1] == wire.EXECUTE and request[-4:] != bytes(4)
    return limited or bool(_DECLARES.match(statement_of(request)))
