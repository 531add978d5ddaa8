"""The program's Database where no backend runs it: values, settings, errors and model calls.

What carries its statements is `connection` in a process, doors/wire/database.py in a client's
session.
"""

import json
import logging
import os
import struct
from collections.abc import Callable, Mapping, MutableMapping
from decimal import Decimal
from typing import Any, Concatenate, LiteralString, NamedTuple, ParamSpec, Self, TypeVar, cast
from uuid import uuid4

import platformdirs
import psycopg
from psycopg import postgres
from psycopg.abc import PyFormat
from psycopg.adapt import AdaptersMap, Dumper, Loader
from psycopg.sql import SQL, Composed, Literal
from psycopg.types.string import TextLoader

from pgblend.cli.operate.account import token_for
from pgblend.plpy.base.session import ProgramError, Rows, error_message
from pgblend.plpy.models.gateway import NO_GATEWAY, GatewayCall, gateway_token

_log = logging.getLogger(__name__)
Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")

# Values as PL/Python takes and gives them: a text for what is no number, truth, bytes or array.


class Typed(NamedTuple):
    """A value's text, NULL where it is None, with its type's number."""

    text: str | None
    oid: int


class _TypedDumper(Dumper):
    def get_key(self, obj: Typed, format: PyFormat) -> Any:
        return self.cls, obj.oid

    def upgrade(self, obj: Typed, format: PyFormat) -> "_TypedDumper":
        dumper = _TypedDumper(self.cls)
        dumper.oid = obj.oid
        return dumper

    def dump(self, obj: Typed) -> bytes | None:
        return None if obj.text is None else obj.text.encode()


class _SingleLoader(Loader):
    """A `real` as the server's number of eight bytes, not as its shortest digits."""

    def load(self, data: Any) -> float:
        (value,) = struct.unpack("f", struct.pack("f", float(bytes(data))))
        return cast(float, value)


_TEXTS = (
    *("json", "jsonb", "uuid", "date", "time", "timetz", "timestamp", "timestamptz", "interval"),
    *("inet", "cidr"),
)


def adapt_values(adapters: AdaptersMap) -> None:
    """Have a cursor write Typed, and read values as PL/Python does."""
    adapters.register_dumper(Typed, _TypedDumper)
    for name in _TEXTS:
        adapters.register_loader(name, TextLoader)
    adapters.register_loader("float4", _SingleLoader)


class ValuesContext:
    """What psycopg's Transformer asks of a connection, to read values as PL/Python does."""

    adapters = AdaptersMap(psycopg.adapters)
    connection = None


adapt_values(ValuesContext.adapters)


# By the very type: a search writes thousands of values, most of these.
_WRITTEN: dict[type, Callable[[Any], str]] = {
    **dict.fromkeys((int, Decimal), str),
    float: repr,
    bool: lambda value: "t" if value else "f",
}


def literal(value: object) -> str:
    """Return a value's text as PostgreSQL reads it; a list as an array's, a named tuple a row's."""
    if isinstance(value, str):
        return value
    if write := _WRITTEN.get(type(value)):
        return write(value)
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return "(" + ",".join(["" if one is None else _member(one) for one in value]) + ")"
    if isinstance(value, (list, tuple)):
        return "{" + ",".join(["NULL" if one is None else _element(one) for one in value]) + "}"
    return repr(value) if isinstance(value, float) else str(value)


def _element(value: object) -> str:
    is_array = isinstance(value, (list, tuple)) and not hasattr(value, "_fields")
    return literal(value) if is_array else _member(value)


def _member(value: object) -> str:
    """Return a value within an array or a row."""
    if write := _WRITTEN.get(type(value)):
        return write(value)
    text = value if isinstance(value, str) else literal(value)
    if "\\" in text or '"' in text:
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


# The Database of a process.


class StatementError(Exception):
    """What a statement ended with."""

    def __init__(
        self, message: str, sqlstate: str | None, *, hint: str | None = None,
        detail: str | None = None, table_name: str | None = None,
    ) -> None:  # fmt: skip
        # A routine in PL/Python may have called the one that failed.
        super().__init__(error_message(Exception(message)))
        self.sqlstate, self.hint, self.detail = sqlstate or "", hint, detail
        self.table_name = table_name


def statement_error(error: psycopg.Error) -> StatementError:
    """Return an error of psycopg as the program takes it."""
    told = error.diag
    return StatementError(
        told.message_primary or str(error),
        error.sqlstate,
        hint=told.message_hint,
        detail=told.message_detail,
        table_name=told.table_name,
    )


_OID = "SELECT $1::text::regtype::oid AS oid"
# Nothing unqualified is found but types and what is public, as in the door's pool.
PATH: LiteralString = """
    SELECT pg_catalog.set_config('search_path',
        pg_catalog.concat_ws(', ', 'pg_catalog', 'blend', n.nspname, 'pg_temp'), true)
    FROM pg_catalog.pg_extension AS e
    INNER JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
    WHERE e.extname OPERATOR(pg_catalog.=) 'vector'"""
# The SET clauses of _run_search, and the forms in which values are written.
SETTINGS = {
    "hnsw.ef_search": "40",
    "hnsw.iterative_scan": "strict_order",
    "hnsw.max_scan_tuples": "20000",
    "enable_sort": "on",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    "extra_float_digits": "1",
}
_MODEL_REQUEST = "SELECT pgblend._model_request($1, $2, $3, $4)::text AS request"
_MODEL_TYPES = ["text", "jsonb", "text", "integer"]
# Code of others that the caller's statements run could prepare something else under a name of this
# process. It would run as the next caller. SQL alone can tell it: what the protocol prepared is not
# from_sql.
UNTOUCHED: LiteralString = """
    SELECT (pg_catalog.concat('somebody prepared in SQL what pgblend named ', p.name))
        ::pg_catalog.int4
    FROM pg_catalog.pg_prepared_statement() AS p
    WHERE p.from_sql AND pg_catalog.starts_with(p.name, 'pgblend_')"""
# Errors of statements by a name that is gone, or whose table is not as it was.
LOST_NAMES = frozenset(("26000", "0A000"))


def settings_of(roles: dict[str, str], path: LiteralString = PATH) -> Composed:
    """Return the statements that set what the program expects, until the transaction ends.

    The last of them is `path`.
    """
    return setting(roles | SETTINGS) + SQL("; ") + SQL(path)


def setting(values: Mapping[str, str]) -> Composed:
    """Return the statement that sets parameters until the transaction ends."""
    each = [
        SQL("pg_catalog.set_config({}, {}, true)").format(Literal(name), Literal(value))
        for name, value in values.items()
    ]
    return SQL("SELECT {}").format(SQL(", ").join(each))


class Outside:
    """What the Database of a process is, whatever carries its statements.

    `session` keeps what a backend's GD does.
    """

    Problem: tuple[type[Exception], ...] = (StatementError, ProgramError)

    def __init__(self, session: MutableMapping[str, Any] | None = None) -> None:
        self.session: MutableMapping[str, Any] = {} if session is None else session
        self.warnings: list[tuple[str, str | None]] = []
        self._types = self.kept("types")

    def kept(self, name: str) -> dict[Any, Any]:
        """Return what the session keeps under a name, at first empty."""
        kept: dict[Any, Any] = self.session.setdefault(f"pgblend_{name}", {})
        return kept

    def run(self, statement: str, types: list[str], *values: object) -> Rows:
        """Run a statement and return its rows."""
        given = [
            Typed(None if value is None else literal(value), self._oid(name))
            for name, value in zip(types, values, strict=True)
        ]
        return self._rows(statement, given)

    def run_within(self, ms: float, statement: str, types: list[str], *values: object) -> Rows:
        """Run a statement that waits for others; it ends with 57014 once its time is over."""
        self.run(f"SELECT set_config('statement_timeout', '{max(1, int(ms))}', true)", [])
        return self.run(statement, types, *values)

    def send_model(self, task: str, question: str, space: str | None, ms: int) -> Mapping[str, Any]:
        """Send a question to the model gateway from this process (gateway_call)."""
        (row,) = self.run(_MODEL_REQUEST, _MODEL_TYPES, task, question, space, ms)
        request: dict[str, Any] = json.loads(row["request"])
        if "problem" in request:
            return request
        if (call := self.gateway_call(request)) is None:
            return NO_GATEWAY
        key = str(uuid4())
        self.kept("calls")[key] = call
        return {"call": key}

    def gateway_call(self, request: dict[str, Any]) -> GatewayCall | None:
        """Send a request to the model gateway from this process; None where none is set.

        PGBLEND_GATEWAY_URL names another address than the setting. The token is that of
        PGBLEND_GATEWAY_TOKEN, or of a file in the folder of this account's state.
        """
        url = os.environ.get("PGBLEND_GATEWAY_URL") or request["url"]
        if url is None:
            return None
        return GatewayCall(self, request | {"url": url, "data_directory": _state_folder()})

    def answer(
        self,
        function: Callable[Concatenate[Self, Arguments], Value],
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Value:
        """Call a function of the program with this and its arguments."""
        return function(self, *arguments, **named)

    def warn(self, message: str, hint: str | None = None) -> None:
        """Keep a warning for the caller, until the next call."""
        self.warnings.append((message, hint))

    def _oid(self, name: str) -> int:
        if name not in self._types:
            known = postgres.types.get(name.removesuffix("[]"))
            if known is None:
                text = postgres.types["text"].oid
                self._types[name] = self._rows(_OID, [Typed(name, text)])[0]["oid"]
            else:
                self._types[name] = known.array_oid if name.endswith("[]") else known.oid
        return cast(int, self._types[name])

    def _rows(self, statement: str, given: list[Typed]) -> Rows:
        raise NotImplementedError


def _state_folder() -> str:
    return str(platformdirs.user_state_path("pgblend", ensure_exists=True))


_ASKED_BY = """
    SELECT pgblend._asking_role()::text AS role,
        blend.get_setting('log_queries') #>> '{}' AS queries,
        blend.get_setting('log_address') #>> '{}' AS address,
        blend.get_setting('gateway_url') #>> '{}' AS gateway
"""


def report_search(db: Outside, report: str) -> None:
    """Have this process send a search's report to the setting log_address; it never fails.

    The token is that which this account has for the gateway.
    """
    from pgblend.plpy.search.datagram import send_report  # where a log is kept

    try:
        (by,) = db.run(_ASKED_BY, [])
        token = token_for(by["gateway"]) or gateway_token(_state_folder())
    except (StatementError, OSError, ValueError) as error:
        _log.warning("a search is not in the log: %s", error)
        return
    if by["address"]:
        send_report(db, report, by["role"], by["queries"], by["address"], token)
