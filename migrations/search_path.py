"""The database's search_path: with pgblend on it, `hybrid_search('…')` needs no schema name.

A plain pg_dump leaves this setting out, so `migrate up` sets it every time and doctor checks it.
"""

from sqlalchemy import Connection, text

_SCHEMA = "pgblend"
_DATABASE_SETTING = text(
    "SELECT split_part(option, '=', 2) FROM pg_db_role_setting AS s, unnest(s.setconfig) AS option"
    " WHERE s.setrole = 0 AND option LIKE 'search_path=%'"
    " AND s.setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_SERVER_DEFAULT = text("SELECT boot_val FROM pg_settings WHERE name = 'search_path'")
_DATABASE = text("SELECT quote_ident(current_database())")


def add(connection: Connection) -> None:
    """Append pgblend to the database's search_path unless it is there."""
    schemas = _schemas(connection)
    if _SCHEMA not in schemas:
        _set(connection, [*schemas, _SCHEMA])


def remove(connection: Connection) -> None:
    """Take pgblend off the database's search_path again."""
    schemas = _schemas(connection)
    if _SCHEMA in schemas:
        _set(connection, [schema for schema in schemas if schema != _SCHEMA])


def _schemas(connection: Connection) -> list[str]:
    value = connection.execute(_DATABASE_SETTING).scalar()
    if value is None:
        value = connection.execute(_SERVER_DEFAULT).scalar_one()
    return [schema.strip() for schema in value.split(",") if schema.strip()]


def _set(connection: Connection, schemas: list[str]) -> None:
    """The schemas are quoted as they were stored; at the server's default the setting goes away."""
    database = connection.execute(_DATABASE).scalar_one()
    default = connection.execute(_SERVER_DEFAULT).scalar_one()
    value = ", ".join(schemas)
    action = "RESET search_path" if value == default else f"SET search_path = {value}"
    connection.exec_driver_sql(
        f"ALTER DATABASE {database} {action}", execution_options={"no_parameters": True}
    )
