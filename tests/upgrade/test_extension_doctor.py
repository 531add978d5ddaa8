"""pgblend doctor, and the commands, where pgblend is an extension: advice that works there."""

import json

import pytest
from click.testing import CliRunner

from pgblend.cli.main import cli
from support.database import Database
from support.extension_server import Place, install

pytestmark = pytest.mark.slow

INSTALL = "run, as a superuser: SELECT blend.install()"
UPDATE = "ALTER EXTENSION pgblend UPDATE"


def _mends(place: Place, db: Database) -> dict[str, str]:
    url = place.url(db.connection.info.dbname)
    report = json.loads(CliRunner().invoke(cli, ["--database-url", url, "doctor", "--json"]).stdout)
    return {check["name"]: check["mend"] for check in report["checks"]}


def test_without_tables(bare: Database, place: Place) -> None:
    bare.rows("CREATE EXTENSION pgblend CASCADE")
    mends = _mends(place, bare)
    assert mends["migrations"] == INSTALL
    assert "search_path" not in mends
    bare.rows("SELECT blend.install()")
    assert _mends(place, bare)["migrations"] == ""


def test_no_advice_leads_to_migrations(bare: Database, place: Place) -> None:
    install(bare)
    name = bare.connection.info.dbname
    bare.rows(f"ALTER DATABASE {name} RESET search_path")
    bare.rows("ALTER FUNCTION blend.rrf SET search_path = public")
    bare.rows(
        "CREATE OR REPLACE FUNCTION pgblend._bucket_of(text) RETURNS int LANGUAGE sql AS 'SELECT 1'"
    )
    bare.rows(
        "CREATE OR REPLACE FUNCTION pgblend._program_code() RETURNS bytea LANGUAGE sql IMMUTABLE"
        " PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS 'SELECT NULL::bytea'"
    )
    mends = _mends(place, bare)
    assert UPDATE in mends["migrations"]
    assert mends["program"] == f"{INSTALL} (on the primary)"
    assert 'SET search_path = "$user", public, blend' in mends["search_path"]
    assert [mend for mend in mends.values() if "migrate" in mend] == []
    bare.rows("DROP FUNCTION pgblend._bucket_of(text)")  # an overload, which calls are unsure of
    for said in (mends["search_path"].partition(" (")[0], INSTALL.partition(": ")[2]):
        bare.rows(said)
    mended = _mends(place, bare)
    assert (mended["program"], mended["search_path"]) == ("", "")
