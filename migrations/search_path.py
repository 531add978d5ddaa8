"""The database's search_path: with blend on it, `hybrid_search('…')` needs no schema name.

A plain pg_dump leaves this setting out, so `migrate up` sets it every time and doctor checks it.
To a role that is called as one of our schemas, as that of `pgblend up`, "$user" would be that
schema: such a role has the database's search_path without it.
"""

from sqlalchemy import Connection, text

_DATABASE_SETTING = text(
    "SELECT split_part(option, '=', 2) FROM pg_db_role_setting AS s, unnest(s.setconfig) AS option"
    " WHERE s.setrole = 0 AND option LIKE 'search_path=%'"
    " AND s.setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_SERVER_DEFAULT = text("SELECT boot_val FROM pg_settings WHERE name = 'search_path'")
_DATABASE = text("SELECT quote_ident(current_database())")
_USER = '"$user"'
_NAMESAKES = text(
    "SELECT r.rolname, (SELECT split_part(option, '=', 2) FROM pg_db_role_setting AS s,"
    " unnest(s.setconfig) AS option WHERE s.setrole = r.oid AND option LIKE 'search_path=%'"
    " AND s.setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()))"
    " FROM pg_roles AS r WHERE r.rolname IN ('blend', 'pgblend', 'pgblend_data')"
    # An owner who is no superuser sets its own alone.
    " AND (r.rolname = current_user OR EXISTS ("
    "SELECT FROM pg_roles AS m WHERE m.rolname = current_user AND m.rolsuper))"
)


def add(connection: Connection, schema: str) -> None:
    """Append a schema to the database's search_path unless it is there."""
    schemas = _schemas(connection)
    _set(connection, schemas if schema in schemas else [*schemas, schema])


def remove(connection: Connection, schema: str) -> None:
    """Take a schema off the database's search_path."""
    _set(connection, [kept for kept in _schemas(connection) if kept != schema], has_ours=False)


def _schemas(connection: Connection) -> list[str]:
    value = connection.execute(_DATABASE_SETTING).scalar()
    if value is None:
        value = connection.execute(_SERVER_DEFAULT).scalar_one()
    return [schema.strip() for schema in value.split(",") if schema.strip()]


def _set(connection: Connection, schemas: list[str], *, has_ours: bool = True) -> None:
    """The schemas are quoted as they were stored; at the server's default the setting goes away."""
    database = connection.execute(_DATABASE).scalar_one()
    before = _schemas(connection)
    if schemas != before:
        value = ", ".join(schemas)
        default = connection.execute(_SERVER_DEFAULT).scalar_one()
        _alter(connection, f"DATABASE {database}", None if value == default else value)
    spared = _spared(schemas) if has_ours and _USER in schemas else None
    for role, own in connection.execute(_NAMESAKES).all():
        if own in (None, _spared(before)):  # else it is a user's
            _alter(connection, f"ROLE {role} IN DATABASE {database}", spared)


def _spared(schemas: list[str]) -> str:
    return ", ".join(schema for schema in schemas if schema != _USER)


def _alter(connection: Connection, what: str, value: str | None) -> None:
    action = "RESET search_path" if value is None else f"SET search_path = {value}"
    connection.exec_driver_sql(f"ALTER {what} {action}", execution_options={"no_parameters": True})
