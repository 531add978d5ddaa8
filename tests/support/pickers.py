"""What the lists of databases' clients show of a database, as JSON: run by a Python that has them.

python pickers.py sqlalchemy|odbc|jdbc HOST PORT DATABASE USER PASSWORD [driver's file]
"""

import json
import sys
from collections.abc import Iterable

Listing = dict[str, dict[str, list[str]]]  # schema, kind (tables or routines), names


def listing(**rows: Iterable[tuple[str, str]]) -> Listing:
    """Gather (schema, name) by schema; what the server itself has is left out."""
    found: Listing = {}
    for kind, pairs in rows.items():
        for schema, name in pairs:
            if schema not in ("pg_catalog", "information_schema", "pg_toast"):
                names = found.setdefault(schema, {}).setdefault(kind, [])
                if name not in names:
                    names.append(name)
    return found


def sqlalchemy(host: str, port: str, database: str, user: str, password: str) -> Listing:
    """Tables and views of every schema that SQLAlchemy names; it lists no routines."""
    from sqlalchemy import create_engine, inspect
    from sqlalchemy.engine import URL

    url = URL.create("postgresql+psycopg2", user, password, host, int(port), database)
    inspector = inspect(create_engine(url))
    schemas = inspector.get_schema_names()
    return {schema: {} for schema in schemas if schema != "information_schema"} | listing(
        tables=[
            (schema, name)
            for schema in schemas
            for name in inspector.get_table_names(schema) + inspector.get_view_names(schema)
        ]
    )


def odbc(host: str, port: str, database: str, user: str, password: str, driver: str) -> Listing:
    """SQLTables and SQLProcedures."""
    import pyodbc

    connection = pyodbc.connect(
        f"DRIVER={driver};SERVER={host};PORT={port};DATABASE={database};UID={user};PWD={password}"
    )
    cursor = connection.cursor()
    return listing(
        tables=[(row.table_schem, row.table_name) for row in cursor.tables()],
        routines=[(row.procedure_schem, row.procedure_name) for row in cursor.procedures()],
    )


def jdbc(host: str, port: str, database: str, user: str, password: str, driver: str) -> Listing:
    """DatabaseMetaData.getTables, getFunctions and getProcedures."""
    import jpype

    jpype.startJVM(classpath=[driver])
    url = f"jdbc:postgresql://{host}:{port}/{database}"
    connection = jpype.java.sql.DriverManager.getConnection(url, user, password)
    about = connection.getMetaData()

    def rows(found: object, kind: str) -> list[tuple[str, str]]:
        pairs = []
        while found.next():  # type: ignore[attr-defined]
            schema, name = (found.getString(f"{kind}_{part}") for part in ("SCHEM", "NAME"))  # type: ignore[attr-defined]
            pairs.append((str(schema), str(name)))
        return pairs

    functions = rows(about.getFunctions(None, None, None), "FUNCTION")
    procedures = rows(about.getProcedures(None, None, None), "PROCEDURE")
    kinds = jpype.JArray(jpype.JString)(["TABLE", "VIEW"])
    return listing(
        tables=rows(about.getTables(None, None, None, kinds), "TABLE"),
        routines=functions + procedures,
    )


if __name__ == "__main__":
    client, *arguments = sys.argv[1:]
    print(json.dumps({"sqlalchemy": sqlalchemy, "odbc": odbc, "jdbc": jdbc}[client](*arguments)))
