"""What a client's message may do, by its text: so far as the door has to know."""

import re

from pgblend.cli.doors.wire import messages as wire

_BACK_TO = rb"rollback\s+(?:(?:work|transaction)\s+)?to\b"
# A savepoint before one of these would stand in its way.
_NAMES_SAVEPOINTS = re.compile(
    rb"(?:^|;)\s*(?:savepoint|release|"
    + _BACK_TO
    + rb"|set\s+(?:local\s+)?(?:transaction|session))\b",
    re.IGNORECASE,
)
_BEGINS = re.compile(rb"(?:^|;)\s*(?:begin|start)\b", re.IGNORECASE)
# After these nothing of what was before can be taken back, or these cannot.
_ENDS = re.compile(
    rb"(?:^|;)\s*(?!" + _BACK_TO + rb")(?:commit|end|rollback|abort|prepare|deallocate|discard)\b",
    re.IGNORECASE,
)
_SAVEPOINTS = re.compile(
    rb"\s*(?:(?:(?:release|" + _BACK_TO + rb")(?:\s+savepoint)?|savepoint)"
    rb"\s+(?:\w+|\"[^\"]*\")\s*;\s*)+(?=\S)",
    re.IGNORECASE,
)
_COPIES = re.compile(rb"\bcopy\b", re.IGNORECASE)
_COMMENT = rb"--[^\n]*|/\*.*?\*/"
_COMMENT_OR_QUOTED = re.compile(
    rb"(" + _COMMENT + rb")|\$(\w*)\$.*?\$\2\$|\be'(?:[^'\\]|\\.)*'|'[^']*'|\"[^\"]*\"",
    re.DOTALL | re.IGNORECASE,
)
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


def _code_of(request: bytes) -> bytes:
    """Return a message's text with a blank in the place of each comment and what is quoted."""
    return _COMMENT_OR_QUOTED.sub(b" ", statement_of(request))


def names_savepoints(request: bytes) -> bool:
    """Whether a message makes or ends savepoints, or may not come after one."""
    return bool(_NAMES_SAVEPOINTS.search(_code_of(request)))


def ends(request: bytes) -> bool:
    """Whether a message ends a transaction, or does what a rollback does not take back."""
    return bool(_ENDS.search(_code_of(request)))


def controls(request: bytes) -> bool:
    """Whether a message begins or ends transactions or savepoints."""
    code = _code_of(request)
    return any(one.search(code) for one in (_NAMES_SAVEPOINTS, _ENDS, _BEGINS))


def before_end(request: bytes) -> bytes:
    """Return a query without what ends a transaction, and what follows that."""
    text = statement_of(request)
    found = _ENDS.search(_COMMENT_OR_QUOTED.sub(lambda one: b" " * len(one[0]), text))
    return wire.message(wire.QUERY, request[5 : 5 + found.start()] + b"\0") if found else request


def copies(request: bytes) -> bool:
    """Whether a message may copy rows from the client, who then sends next."""
    return bool(_COPIES.search(_code_of(request)))


def without_savepoints(request: bytes) -> tuple[bytes, bytes]:
    """Return the savepoints that a query begins with, and the rest, as queries; else nothing."""
    found = _SAVEPOINTS.match(request, 5) if request[:1] == wire.QUERY else None
    if found is None:
        return b"", b""
    first, rest = found[0] + b"\0", request[found.end() :]
    return wire.message(wire.QUERY, first), wire.message(wire.QUERY, rest)


def sets_before(request: bytes) -> bool:
    """Whether a message changes settings."""
    text = statement_of(request)
    small = text.lower()
    if b"set" not in small and b"discard" not in small:  # most, and some are long
        return False
    code = _COMMENT_OR_QUOTED.sub(lambda found: b" " if found[1] else found[0], text)
    return bool(_SETS.search(code))


def bound_name(request: bytes) -> bytes:
    """Return the name of the statement that a Bind takes."""
    return request[5:].split(b"\0", 2)[1]


def named_statement(request: bytes) -> bytes:
    """Return the name of the statement that a message makes or closes, nothing where it has none.

    What it does no rollback takes back.
    """
    match request[:1]:
        case wire.PARSE:
            return wire.texts_of(request[5:], 1)[0]
        case wire.CLOSE if request[5:6] == b"S":
            return wire.texts_of(request[6:], 1)[0]
    return b""


def used_statement(request: bytes) -> bytes | None:
    """Return the name of the statement that a message takes, nothing where it has no name."""
    match request[:1]:
        case wire.BIND:
            return bound_name(request)
        case wire.DESCRIBE if request[5:6] == b"S":
            return wire.texts_of(request[6:], 1)[0]
    return None


def takes_unnamed(request: bytes) -> bool:
    """Whether a message takes the statement without a name."""
    return used_statement(request) == b""


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
