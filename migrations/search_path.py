"""The database's search_path: with blend on it, `hybrid_search('…')` needs no schema name.

A plain pg_dump leaves this setting out, so `migrate up` sets it every time and doctor checks it.
"""

from sqlalchemy import Connection, text

_DATABASE_SETTING = text(
    "SELECT split_part(option, '=', 2) FROM pg_db_role_setting AS s, unnest(s.setconfig) AS option"
    " WHERE s.setrole = 0 AND option LIKE 'search_path=%'"
    " AND s.setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_SERVER_DEFAULT = text("SELECT boot_val FROM pg_settings WHERE name = 'search_path'")
_DATABASE = text("SELECT quote_ident(current_database())")


def add(connection: Connection, schema: str) -> None:
    """Append a schema to the database's search_path unless it is there."""
    schemas = _schemas(connection)
    if schema not in schemas:
        _set(connection, [*schemas, schema])


def remove(connection: Connection, schema: str) -> None:
    """Take a schema off the database's search_path."""
    schemas = _schemas(connection)
    if schema in schemas:
        _set(connection, [kept for kept in schemas if kept != schema])


def replace(connection: Connection, old: str, new: str) -> None:
    """Put a schema into another's place on the database's search_path, if that is there."""
    schemas = _schemas(connection)
    if old in schemas:
        _set(connection, [new if schema == old else schema for schema in schemas])


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
