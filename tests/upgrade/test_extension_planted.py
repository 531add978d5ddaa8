"""Routines and operators that lesser roles put where ours look: no superuser runs or binds them."""

import pytest

from support.database import Database
from support.extension_server import Place, install
from support.planted import PLANTED, ROLE, planter

pytestmark = pytest.mark.slow
NEEDED = ("CREATE EXTENSION vector", "CREATE EXTENSION pg_trgm", "CREATE EXTENSION plpython3u")


def _refused(db: Database, statement: str, planted: str) -> None:
    said = db.error(statement)
    assert said.sqlstate == "42501"
    named = f"a superuser would run code of others: {planted} of {ROLE}"
    assert str(said.message_primary).replace("public.", "") == named
    assert "ALTER ... SET SCHEMA" in str(said.message_hint)


@pytest.mark.parametrize("planted", PLANTED)
def test_create_extension_binds_none_of_it(bare: Database, place: Place, planted: str) -> None:
    """Parsed bodies keep what they found, also where the planter moves it away afterwards."""
    for statement in NEEDED:
        bare.rows(statement)
    with planter(place.url(bare.connection.info.dbname)) as plant:
        plant(PLANTED[planted])
        _refused(bare, "CREATE EXTENSION pgblend", planted)
    assert bare.rows("SELECT extname FROM pg_extension WHERE extname = 'pgblend'") == []
    install(bare)


@pytest.mark.parametrize("planted", PLANTED)
def test_install_runs_none_of_it(bare: Database, place: Place, planted: str) -> None:
    bare.rows("CREATE EXTENSION pgblend CASCADE")
    with planter(place.url(bare.connection.info.dbname)) as plant:
        plant(PLANTED[planted])
        _refused(bare, "SELECT blend.install()", planted)
    assert bare.value("SELECT to_regclass('pgblend_data.document')") is None
    bare.rows("SELECT blend.install()")


def test_installing_again_runs_none_of_it(bare: Database, place: Place) -> None:
    install(bare)
    with planter(place.url(bare.connection.info.dbname)) as plant:
        plant(PLANTED["format(text,text)"])
        _refused(bare, "SELECT blend.install()", "format(text,text)")


def test_names_of_their_own_and_a_superuser_s_are_no_hindrance(
    bare: Database, place: Place
) -> None:
    with planter(place.url(bare.connection.info.dbname)) as plant:
        plant("CREATE FUNCTION public.my_own(text) RETURNS text LANGUAGE sql AS $$ SELECT $1 $$")
        bare.rows(PLANTED["format(text,text)"].replace("format", "lower"))
        install(bare)


def test_membership_of_another_extension_hides_nothing(bare: Database, place: Place) -> None:
    for statement in (*NEEDED, "CREATE EXTENSION hstore"):
        bare.rows(statement)
    member = "EXTENSION hstore {} FUNCTION public.format(text, text)"
    with planter(place.url(bare.connection.info.dbname)) as plant:
        plant(PLANTED["format(text,text)"])
        bare.rows(f"ALTER {member.format('ADD')}")
        _refused(bare, "CREATE EXTENSION pgblend", "format(text,text)")
        bare.rows(f"ALTER {member.format('DROP')}")
    install(bare)
    with planter(place.url(bare.connection.info.dbname)) as plant:
        plant(PLANTED["format(text,text)"])
        bare.rows(f"ALTER {member.format('ADD')}")
        _refused(bare, "SELECT blend.install()", "format(text,text)")
        bare.rows(f"ALTER {member.format('DROP')}")
