"""Answers to stand-ins: a routine's own body, run by this process over the session that called it.

A stand-in (sql/outside.py) names itself and its arguments. What its body returns is told as texts,
which the server reads as values of the routine's types. Its warnings and its error are told too.
"""

import hashlib
import json
import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from textwrap import indent
from typing import Any

from pgblend.cli.base.revision import HOW_TO_MATCH, OTHER_PROGRAM
from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.database import NotAllowedError, Plpy, SessionDatabase
from pgblend.cli.doors.wire.own_statements import (
    ROWS_WRITTEN_FOR_ANY,
    CanceledError,
    GoneError,
    Told,
)
from pgblend.cli.doors.wire.prepared import read_rows
from pgblend.cli.doors.wire.session import Session
from pgblend.cli.search.outside import StatementError, literal, report_search
from pgblend.plpy.base.session import ProgramError, keep_value
from pgblend.plpy.graph.edge_rows import checked_links
from pgblend.plpy.graph.names import link_target
from pgblend.plpy.lexical.records import pack_chunks
from pgblend.plpy.models.gateway import NO_GATEWAY
from pgblend.sql.outside import CLOCK, EFFECTS, PLAIN, Column, Routine, body_digest, routines

_log = logging.getLogger(__name__)
# What names a stand-in: a public routine; a function or a view, whose text names one.
_NAMES = """
    SELECT p.proname::text AS name, '' AS text
    FROM pg_catalog.pg_proc AS p
    INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace AND n.nspname = 'blend'
    WHERE EXISTS (
        SELECT FROM pg_catalog.pg_proc AS t
        INNER JOIN pg_catalog.pg_namespace AS m
            ON m.oid = t.pronamespace AND m.nspname = 'pgblend'
        WHERE t.proname = '_told')
    UNION ALL
    SELECT p.proname, pg_catalog.concat(p.prosrc, pg_catalog.pg_get_function_sqlbody(p.oid))
    FROM pg_catalog.pg_proc AS p
    INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
    WHERE n.oid = pg_catalog.pg_my_temp_schema()
        OR n.nspname !~ '^(pg_|information_schema$|pgblend$|blend$)'
    UNION ALL
    SELECT c.relname, pg_catalog.pg_get_viewdef(c.oid)
    FROM pg_catalog.pg_class AS c
    INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind = ANY ('{v,m}')
        AND (n.oid = pg_catalog.pg_my_temp_schema()
            OR n.nspname !~ '^(pg_|information_schema$|pgblend|blend$)')
"""
_MOST_ROUNDS = 5  # of views on views
_AROUND = {
    wire.IDLE: ("BEGIN", "COMMIT"),
    wire.IN_TRANSACTION: (
        "SAVEPOINT pgblend_names",
        "ROLLBACK TO SAVEPOINT pgblend_names; RELEASE SAVEPOINT pgblend_names",
    ),
}
# Statements that call a stand-in without naming one, in small letters.
_HIDDEN = re.compile(
    rb"(?:^|;|\*/|\)|\b(?:as|analyze|explain|verbose))\s*execute\b|\brefresh\s+materialized\b",
    re.MULTILINE,
)
_OWN = re.compile(rb"\bpgblend\.\w+")
# What is no letter, digit or _ is a blank: so long texts are searched word by word.
_BLANKS = bytes(one if one > 127 or chr(one).isalnum() or one == 95 else 32 for one in range(256))
_MOST_KEPT, _LONGEST_KEPT = 1000, 1000  # statements whose names are kept, and their bytes


def answers_of(session: Session) -> "ProgramAnswers | None":
    """Return what answers a session's stand-ins; None where its database has none."""
    reaching = _reaching(session)
    if reaching is None:
        return None
    (*_, may, _) = session.ask("SELECT pg_catalog.has_schema_privilege('pgblend', 'USAGE')")
    if may[-1:] != b"t":
        session.written = ROWS_WRITTEN_FOR_ANY
    stays = session.stays()
    if stays:  # else another's transaction might believe it
        session.ask("SET pgblend.answers = on")  # _is_answered
    return ProgramAnswers(session, reaching, stays)


class _Names:
    """Names that may call a stand-in."""

    def __init__(self, names: Iterable[str]) -> None:
        small = {name.encode().lower() for name in names}
        self._words = frozenset(one for one in small if [one] == one.translate(_BLANKS).split())
        self._others = small - self._words  # that stand in quotes

    def found_in(self, small: bytes) -> frozenset[bytes]:
        """Return those in a text in small letters, and routines of pgblend in it."""
        found = self._words.intersection(small.translate(_BLANKS).split())
        found = found.union(one for one in self._others if one in small)
        return found.union(_OWN.findall(small)) if b"pgblend." in small else found


def _reaching(session: Session) -> _Names | None:
    """Return the names that may call a stand-in; None where there is none."""
    begin, end = _AROUND[session.state]
    # Whoever set the session's search_path, operators are PostgreSQL's own; no limit is for this.
    set_ = "SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL statement_timeout = 0"
    rows = read_rows(session.ask(f"{begin}; {set_}; {_NAMES}; {end}"))
    names = [row["name"] for row in rows if not row["text"]]
    if not names:
        return None
    others = [row for row in rows if row["text"]]
    for _ in range(_MOST_ROUNDS):
        reaching = _Names(names)
        found = [row["name"] for row in others if reaching.found_in(row["text"].encode().lower())]
        others = [row for row in others if row["name"] not in found]
        names += found
        if not found:
            break
    return _Names(names)


class ProgramAnswers:
    """Answers the stand-ins that one session's statements reach."""

    def __init__(self, session: Session, reaching: _Names, stays: bool) -> None:
        self._session, self._reaching = session, reaching
        self._reached: dict[bytes, frozenset[bytes]] = {}  # by statement
        self._db = SessionDatabase(session, self._answer, stays)

    def reached(self, statement: bytes) -> frozenset[bytes]:
        """Return the names in a statement that may call a stand-in: of routines, views, EXECUTE."""
        if (known := self._reached.get(statement)) is not None:
            return known
        small = statement.lower()
        found = self._reaching.found_in(small)
        if b"execute" in small or b"refresh" in small:
            found = found.union(_HIDDEN.findall(small))
        if len(statement) <= _LONGEST_KEPT:
            keep_value(self._reached, statement, found, _MOST_KEPT)
        return found

    def learn(self) -> None:
        """Read again which functions and views reach stand-ins: some are new."""
        self._reaching = _reaching(self._session) or self._reaching
        self._reached.clear()

    def routine(self, call: str) -> str:
        """Return the name of the routine that a call is of."""
        return call.split('"', 4)[3]  # it begins with it: {"call" : ["pgblend._run_search", …

    def has_effects(self, call: str) -> bool:
        """Whether the answer to a call is to be made in the transaction that it is told in."""
        return self.routine(call) in EFFECTS

    def tell(self, call: str) -> Told:
        """Return the answer to a call, from the session's transaction."""
        asked, writes = json.loads(call), self.has_effects(call)
        given = {name: value for name, value in asked["settings"].items() if value is not None}
        name, *arguments = asked["call"]
        try:
            with (
                self._db.begun(given, writes),
                self._db.foreseen.call("" if writes else name, arguments),
            ):
                self._db.send_ahead()
                return self._answer(call)
        except NotAllowedError as error:
            return _entry(call, None, {"error": _error(error.problem)})

    def _answer(self, call: str) -> Told:
        db, asked = self._db, json.loads(call)
        name, *arguments = asked["call"]
        before, value, beside = len(db.warnings), None, dict[str, Any]()
        try:
            if asked.get("program") != body_digest():
                raise ProgramError(OTHER_PROGRAM, HOW_TO_MATCH, "PB012")
            value = _value(db, name, arguments)
        except (ProgramError, StatementError) as error:
            beside["error"] = _error(error)
        except (CanceledError, GoneError, NotAllowedError):
            raise
        except Exception as error:
            # Also of a call that was gathered with unknown values and is never made.
            _log.info("%s failed", name, exc_info=True)
            beside["error"] = {"message": f"{name} failed: {error!r}", "sqlstate": "XX000"}
        if warnings := db.warnings[before:]:
            beside["warnings"] = warnings
            del db.warnings[before:]
        if last := db.session.get("pgblend_last_search"):
            beside["last_search"] = last[0]
        return _entry(call, value, beside)


def _error(error: ProgramError | StatementError) -> dict[str, Any]:
    message = error.message if isinstance(error, ProgramError) else str(error)
    fields = ("sqlstate", "hint", "detail", "table_name")
    return {"message": message} | {one: getattr(error, one) for one in fields}


def _entry(call: str, value: Any, beside: Mapping[str, Any]) -> Told:
    digest = hashlib.md5(call.encode(), usedforsecurity=False).hexdigest()
    parts = (value, beside or None)
    texts = (None if one is None else json.dumps(one, ensure_ascii=False) for one in parts)
    return Told(digest, *texts)


def _value(db: SessionDatabase, name: str, arguments: list[Any]) -> Any:
    if name in _PURE:
        return _PURE[name](db, *arguments)
    routine = routines()[name]
    given = [_read(db, *each) for each in zip(routine.inputs, arguments, strict=True)]

    def run() -> Any:
        return _function(name)(db, Plpy(db), db.session, {}, *given)

    if name != "pgblend._seal_batch":
        return _told(routine, run())
    # One answer is told to all equal calls of a statement: so it seals all batches.
    db.run(_CLAIM, ["bigint"], given[0])
    while (sealed := run()) >= _BATCH:
        pass
    return _told(routine, sealed)


def _packed(db: SessionDatabase, chunks: list[tuple[int, str]] | None) -> list[Any]:
    """Return what chunks wait as (records.py), by their own positions and lexemes."""
    rows = [{"own_position": own, "vector": bytes.fromhex(vector)} for own, vector in chunks or ()]
    found = pack_chunks(db, rows)
    return [[one.length, one.own_length, one.records.hex()] for one in found]


def _meant(
    db: SessionDatabase, documents: list[tuple[str | None, str | None, str]] | None
) -> list[Any]:
    """Return what documents' links mean (store.py): a document's place, the link, the meaning."""
    documents = documents or []
    given = [checked_links(links) for *_, links in documents]
    return [
        (place, json.dumps(link), *meant)
        for place, ((key, uri, _), links) in enumerate(zip(documents, given, strict=True), 1)
        for link in links
        if key is not None
        and (meant := link_target(link.get("kind") or "key", link["target"], key, uri))
    ]


def _answered(
    db: SessionDatabase, task: str, question: str, space: str | None, ms: int
) -> list[Any]:
    """Return what the model gateway answers to this process."""
    sent = db.send_model(task, question, space, ms)
    if "call" in sent:
        sent = db.kept("calls").pop(sent["call"]).answer()
    return [json.dumps(sent)]


def _posted(db: SessionDatabase, request: str) -> list[Any]:
    """Return what the model gateway answers to a request of this process."""
    call = db.gateway_call(json.loads(request))
    return [json.dumps(NO_GATEWAY if call is None else call.answer())]


def _reported(db: SessionDatabase, report: str) -> list[Any]:
    """Have this process send a search's report to the setting log_address; it never fails."""
    report_search(db, report)
    return [None]


_CLAIM = "SELECT pgblend._claim_index($1)"
_BATCH = 20_000  # chunks that _seal_batch takes at most


def _rebuilt(db: SessionDatabase, collection_id: int) -> list[Any]:
    """Drop a collection's index and make it anew; return how many chunks that has."""
    db.run("SELECT pgblend._drop_index($1)", ["bigint"], collection_id)
    made = db.run("SELECT pgblend._seal_all_missing($1) AS chunks", ["bigint"], collection_id)
    return [made[0]["chunks"]]


# What stands in the place of routines' bodies: bodies of stand-ins of their own, and what
# this process knows itself, such as where its gateway is.
_PURE: dict[str, Callable[..., list[Any]]] = {
    "pgblend._chunk_index": _packed,
    "pgblend._insert_links": _meant,
    "pgblend._post_to_gateway": _posted,
    "pgblend._rebuild_segments": _rebuilt,
    "pgblend._request_model": _answered,
    "pgblend._report_search": _reported,
}


@cache
def _function(name: str) -> Callable[..., Any]:
    """Return a routine's body as a function: db, plpy, GD, SD, and its arguments."""
    routine = routines()[name]
    names = ", ".join(("db", "plpy", "GD", "SD", *(one.name for one in routine.inputs)))
    scope: dict[str, Any] = {}
    # The body is this package's own source.
    exec(f"def body({names}):\n{indent(routine.body, '    ')}", scope)
    function: Callable[..., Any] = scope["body"]
    return function


_ATTRIBUTES = """
    SELECT a.attname::text AS name, pg_catalog.format_type(a.atttypid, NULL) AS type
    FROM pg_catalog.pg_attribute AS a
    WHERE a.attrelid = pg_catalog.to_regclass($1) AND a.attnum > 0
"""


def _read(db: SessionDatabase, column: Column, value: Any) -> Any:
    """Return an argument as PL/Python gives it; a clock is not told (sql/outside.py)."""
    if value is None:
        return time.time() if column.name == CLOCK else None
    base, array, _ = column.type.partition("[]")
    if array:
        return [_read(db, Column(column.name, base), each) for each in value]
    if base in ("real", "double precision"):
        return float(value)
    if base == "bytea":
        return bytes.fromhex(value.removeprefix("\\x"))
    if base in PLAIN or "." not in base:
        return value
    known = db.kept("attributes")
    if base not in known:
        rows = db.run(_ATTRIBUTES, ["text"], base)
        known[base] = {row["name"]: row["type"] for row in rows}
    return {name: _attribute(db, known[base][name], each) for name, each in value.items()}


def _attribute(db: SessionDatabase, kind: str, value: Any) -> Any:
    """Return an attribute of a composite value: JSON is a text there."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return _read(db, Column("", kind), value)


def _told(routine: Routine, value: Any) -> Any:
    """Return a routine's value as its stand-in reads it: texts in a list."""
    if routine.is_set:
        return [_row(routine, each) for each in value or ()]
    if routine.outputs:
        return _row(routine, value)
    return [_text(value)]


def _row(routine: Routine, value: Any) -> Any:
    names = [one.name for one in routine.outputs]
    if isinstance(value, Mapping):
        if not names:
            return {name: _text(each) for name, each in value.items()}
        return [_text(value[name]) for name in names]
    if value is None:
        return [None] * len(names)
    return [
        _text(each) for each in (value if len(names) != 1 or isinstance(value, tuple) else [value])
    ]


def _text(value: Any) -> str | None:
    return None if value is None else literal(value)
