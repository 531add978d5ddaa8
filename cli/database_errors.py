"""What PostgreSQL's errors mean to the person at the command line: advice and exit codes."""

import re

from pgblend.cli.errors import ExitCode, UserError
from pgblend.cli.rights import role_for

NOT_MIGRATED_HINT = "run: pgblend migrate up"

# Connection failures carry no SQLSTATE: libpq only hands on the text.
_CONNECTION_ADVICE = (
    (
        r"password authentication failed|no password supplied",
        "put the right password into the URL, PGPASSWORD or ~/.pgpass",
    ),
    (
        r"[Pp]eer authentication failed|Ident authentication failed|no pg_hba.conf entry",
        "the server's pg_hba.conf does not let this user in from here: "
        "name another user or host in the URL, or change pg_hba.conf",
    ),
    (r"role .* does not exist", "name another user in the URL, or create the role"),
    (
        r"database .* does not exist",
        "create it with createdb, or name another database in the URL",
    ),
    (
        r"Connection refused|No such file or directory",
        "start the server, or correct host and port in the URL; "
        "`pgblend up` starts the private server",
    ),
    (r"resolve host|translate host name", "correct the host in the URL"),
    (r"timeout|timed out", "check host, port and firewall"),
    (r"SSL", "correct sslmode in the URL, or the server's TLS settings"),
    (
        r"starting up|shutting down|recovery mode|too many clients|connection slots",
        "wait a moment and run it again",
    ),
    (
        r"closed the connection|connection is lost|terminating connection|connection is closed",
        "see the server's log for the reason, then run it again",
    ),
)

# SQLSTATEs that say where to go next when the server itself gives no hint.
_STATEMENT_ADVICE = {
    "0A000": "read the message: the server lacks a feature or an extension package",
    "25006": "use a server that accepts writes: this one, or this session, is read-only",
    "28P01": "put the right password into the URL, PGPASSWORD or ~/.pgpass",
    "40001": "another session changed the same rows: run it again",
    "40P01": "another session held the same rows: run it again",
    "42501": "connect as a role that may: see pgblend_reader, pgblend_writer and pgblend_admin, "
    "and `pgblend collection grant`",
    "53100": "make room on the server's disk",
    "53300": "wait for a connection to become free, or raise max_connections",
    "55P03": "another session holds the lock: run it again",
    "57014": "raise statement_timeout, or ask for less",
    "57P01": "the server was stopped; start it and run it again",
    "58P01": "install the missing package on the server; `pgblend doctor` lists what is needed",
}

_MISSING_OBJECT = {"3F000", "42P01", "42883"}
_OURS = re.compile(r"\bpgblend(_data)?\b|\bblend\.|schema \"blend\"")
# Private routines begin with an underscore. What is public was in pgblend before version 0.0.2.
_PUBLIC_NAME = re.compile(r"\bpgblend\.([a-z]\w*)")
# What the tables of a coordinator answer that shards have (sql/shards/_guard_store.sql).
_ON_SHARDS = "documents are on the shards"
_NO_VECTORS = {"PB001", "PB008"}
_UNREACHABLE_CLASSES = ("08", "28", "3D", "57P")


def advice_for_connection(text: str, is_connection_failure: bool) -> UserError:
    """Explain an error without a SQLSTATE: mostly a connection that could not be made or broke."""
    line = text.strip().splitlines()[0] if text.strip() else "the connection failed"
    message = re.sub(r"^(connection (failed|is bad): )+", "", line).replace("FATAL:  ", "")
    if not is_connection_failure:
        return UserError(message)
    for pattern, hint in _CONNECTION_ADVICE:
        if re.search(pattern, text):
            return UserError(message, hint=hint, exit_code=ExitCode.DATABASE)
    return UserError(
        message, hint="check the database URL and the server", exit_code=ExitCode.DATABASE
    )


def advice_for_statement(sqlstate: str, message: str, hint: str) -> UserError:
    """Explain an error that the server raised for a statement; its own hint comes first."""
    message = message.removeprefix("plpy.Error: ")  # where no shell is around the program
    if _ON_SHARDS in message:
        return UserError(
            "this does not work on a coordinator of shards yet",
            hint="docs/shards.md says what does; with the URL of a shard it works for that one's "
            "documents",
        )
    if sqlstate in _MISSING_OBJECT and (named := _PUBLIC_NAME.search(message)):
        return UserError(message, hint=f"what is public is in the schema blend: blend.{named[1]}")
    if sqlstate in _MISSING_OBJECT and _OURS.search(message):
        return UserError(
            f"this database is not migrated, or not to this version ({message})",
            hint=NOT_MIGRATED_HINT,
            exit_code=ExitCode.DATABASE,
        )
    if sqlstate == "42501" and not hint and (role := role_for(message)):
        hint = f"it takes the role {role}: an administrator grants it to yours"
        hint += f" (GRANT {role} TO …)" if " or " not in role else ""
    exit_code = ExitCode.VECTORS_UNAVAILABLE if sqlstate in _NO_VECTORS else ExitCode.ERROR
    if sqlstate.startswith(_UNREACHABLE_CLASSES):
        exit_code = ExitCode.DATABASE
    return UserError(message, hint=hint or _STATEMENT_ADVICE.get(sqlstate, ""), exit_code=exit_code)
