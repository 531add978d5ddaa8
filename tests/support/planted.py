"""Routines and operators of a lesser role, where ours look for theirs: public, with vector."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

ROLE = "pgblend_planter"
# Each fits better than pg_catalog's own, where texts are handed over.
PLANTED = {
    "format(text,text)": "CREATE FUNCTION public.format(text, text) RETURNS text LANGUAGE plpgsql"
    " AS $$ BEGIN RAISE 'ran as %', current_user; END $$",
    "pg_has_role(text,text)": "CREATE FUNCTION public.pg_has_role(text, text) RETURNS boolean"
    " LANGUAGE plpgsql AS $$ BEGIN RAISE 'ran as %', current_user; END $$",
    "=(text,name)": "CREATE FUNCTION public.same(text, name) RETURNS boolean LANGUAGE plpgsql"
    " AS $$ BEGIN RAISE 'ran as %', current_user; END $$;"
    " CREATE OPERATOR public.= (FUNCTION = public.same, LEFTARG = text, RIGHTARG = name)",
}


@contextmanager
def planter(url: str) -> Iterator[Callable[[str], None]]:
    """Run statements as a role that may create in the schema public, and no more."""
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {ROLE}")
        admin.execute(f"GRANT CREATE ON SCHEMA public TO {ROLE}")

        def plant(statement: str) -> None:
            admin.execute(f"SET ROLE {ROLE}")
            admin.execute(statement)  # type: ignore[call-overload]
            admin.execute("RESET ROLE")

        try:
            yield plant
        finally:
            admin.execute("RESET ROLE")
            admin.execute(f"DROP OWNED BY {ROLE}")
            admin.execute(f"DROP ROLE {ROLE}")
