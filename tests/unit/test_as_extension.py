"""The files of the extension: what is whose, and what PGXN asks of META.json."""

import json
from pathlib import Path

import jsonschema
import pytest

from pgblend.cli.base.errors import UserError
from pgblend.migrations.as_extension.build import build
from pgblend.migrations.as_extension.split import split, statements
from pgblend.migrations.replace_routines import ACCESS
from pgblend.migrations.scripts import read_types
from pgblend.sql import render

# The rules of https://pgxn.org/meta/spec.txt, version 1.0.0, for the fields that we give.
_TERM = {"type": "string", "minLength": 2, "pattern": r"^[^\s/\\\x00-\x1f\x7f]*$"}
_SEMVER = {"type": "string", "pattern": r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[\w.-]+)?$"}
_TEXT = {"type": "string", "minLength": 1}
_RANGE = {"anyOf": [{"const": 0}, _SEMVER]}
_PREREQS = {
    "type": "object",
    "propertyNames": {"enum": ["configure", "runtime", "build", "test", "develop"]},
    "additionalProperties": {
        "type": "object",
        "propertyNames": {"enum": ["requires", "recommends", "suggests", "conflicts"]},
        "additionalProperties": {
            "type": "object",
            "additionalProperties": _RANGE,
            "minProperties": 1,
        },
    },
}
_EXTENSION = {
    "type": "object",
    "required": ["file", "version"],
    "properties": {"file": _TEXT, "version": _SEMVER, "abstract": _TEXT, "docfile": _TEXT},
    "additionalProperties": False,
}
META = {
    "type": "object",
    "required": ["name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"],
    "properties": {
        "name": _TERM,
        "version": _SEMVER,
        "abstract": _TEXT,
        "description": _TEXT,
        "maintainer": {"type": "array", "minItems": 1, "items": _TEXT},
        "license": {"enum": ["apache_2_0", "bsd", "mit", "postgresql"]},
        "release_status": {"enum": ["stable", "testing", "unstable"]},
        "provides": {
            "type": "object",
            "propertyNames": _TERM,
            "additionalProperties": _EXTENSION,
            "minProperties": 1,
        },
        "prereqs": _PREREQS,
        "tags": {
            "type": "array",
            "uniqueItems": True,
            "items": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[^/\\]+$"},
        },
        "generated_by": _TEXT,
        "meta-spec": {
            "type": "object",
            "required": ["version"],
            "properties": {"version": {"const": "1.0.0"}, "url": _TEXT},
        },
    },
    "additionalProperties": False,
}
TYPES = "CREATE TYPE pgblend_data.row_type AS (a text);"
OWN = (
    "CREATE OR REPLACE FUNCTION pgblend._late() RETURNS int LANGUAGE sql\nAS $f$\n"
    "SELECT 1 FROM pgblend_data.chunk; $f$;",
    "CREATE OR REPLACE FUNCTION pgblend._of_type(a pgblend_data.row_type) RETURNS int\n"
    "AS $f$ 1; $f$;",
    "CREATE OR REPLACE FUNCTION pgblend._told() RETURNS int\n"
    "BEGIN ATOMIC\n    SELECT 1; -- as in pgblend_data.chunk\n    SELECT ';';\nEND;",
    "CREATE OR REPLACE VIEW blend.free AS SELECT pgblend._told() AS n;",
)
BOUND = (
    "CREATE OR REPLACE FUNCTION pgblend._parsed() RETURNS bigint\n"
    "BEGIN ATOMIC\n    SELECT count(*) FROM pgblend_data.chunk;\nEND;",
    "CREATE OR REPLACE FUNCTION pgblend._row(a pgblend_data.chunk) RETURNS int\nAS $f$ 1; $f$;",
    "CREATE OR REPLACE FUNCTION pgblend._named() RETURNS int\n"
    "RETURN has_table_privilege('pgblend_data.chunk'::regclass, 'SELECT')::int;",
    "CREATE OR REPLACE FUNCTION pgblend._calls() RETURNS int\nRETURN pgblend._parsed();",
    "CREATE OR REPLACE VIEW blend.seen AS SELECT pgblend._calls() AS n;",
    "CREATE OR REPLACE TRIGGER t AFTER INSERT ON pgblend_data.chunk EXECUTE FUNCTION pgblend._f();",
)


def test_what_binds_to_tables_is_not_the_extensions() -> None:
    script = "\n-- Why\n".join(["", *BOUND, *OWN])
    grants = "GRANT SELECT ON blend.seen TO pgblend_reader;"
    comments = (
        "COMMENT ON VIEW blend.seen IS 'a; b';",
        "COMMENT ON FUNCTION pgblend._late IS 'it''s';",
    )
    parts = split("".join([script, ACCESS, grants, *comments]), TYPES)
    assert [one for one in OWN if one not in parts.own] == []
    assert [one for one in BOUND if one not in parts.bound] == []
    assert parts.comments == comments[1]
    assert parts.rest == "".join([grants, *comments])


def test_nothing_is_lost() -> None:
    script = render()
    assert "".join(statements(script)).strip() == script.strip()
    parts = split(script, read_types())
    parted = sorted(
        line for part in (parts.own, parts.bound, parts.rest) for line in part.splitlines() if line
    )
    assert parted == sorted(line for line in script.replace(ACCESS, "").splitlines() if line)
    assert "CREATE OR REPLACE FUNCTION blend.hybrid_search(" in parts.own
    assert "CREATE OR REPLACE VIEW blend.documents" in parts.bound


def test_what_is_no_statement_is_refused() -> None:
    with pytest.raises(ValueError, match="no statement: 'SELECT 2'"):
        list(statements("SELECT 1;SELECT 2"))


def test_the_files(tmp_path: Path) -> None:
    names = {path.name for path in build(tmp_path / "made" / "here")}
    assert names >= {"pgblend.control", "META.json", "Makefile", "LICENSE"}
    folder = tmp_path / "made" / "here"
    meta = json.loads((folder / "META.json").read_text(encoding="utf-8"))
    jsonschema.validate(meta, META)
    assert meta["provides"]["pgblend"]["file"] in names
    version = meta["provides"]["pgblend"]["version"]
    assert f"default_version = '{version}'" in (folder / "pgblend.control").read_text()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write the extension into"):
        build(tmp_path / "file" / "folder")
