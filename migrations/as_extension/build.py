"""Write the files of the extension: pgblend.control, scripts, what PGXS and PGXN want."""

import json
import re
from collections.abc import Mapping
from importlib.metadata import distributions, metadata
from pathlib import Path
from typing import NamedTuple

from pgblend.cli.base.errors import UserError
from pgblend.cli.base.revision import known_revisions
from pgblend.migrations import runner
from pgblend.migrations.as_extension.split import split
from pgblend.migrations.preflight import EXTENSIONS, MINIMUM_SERVER, MINIMUM_VECTOR, ROUTINES_PATH
from pgblend.migrations.replace_routines import COMMENT, created_names, digest, snapshot
from pgblend.migrations.scripts import (
    read_changes,
    read_guard,
    read_script,
    read_tables,
    read_types,
    signature,
)

_ABOUT = "Hybrid search in PostgreSQL: BM25, vectors, fusion"
_CONTROL = f"""\
comment = '{_ABOUT}'
default_version = '{{version}}'
encoding = 'UTF8'
requires = '{", ".join(EXTENSIONS)}'
schema = pg_catalog
relocatable = false
superuser = true
trusted = false
"""
_KINDS = ("FUNCTION", "PROCEDURE", "VIEW")
_PLACEHOLDER = re.compile(r"#(\w+)")
_TAGS = (
    "$install$",
    "$guard$",
    "$tables$",
    "$bound$",
    "$late$",
    "$rest$",
    "$revisions$",
)


class Release(NamedTuple):
    """A version of the extension, and the revision of its tables and routines."""

    version: str
    revision: str


def build(folder: Path) -> list[Path]:
    """Write the newest version, the released ones, and updates from these; return the paths."""
    *former, newest = _releases()
    scripts = {f"pgblend--{one.version}.sql": _creation(one) for one in (*former, newest)}
    scripts |= {
        f"pgblend--{one.version}--{newest.version}.sql": _update(one, newest) for one in former
    }
    texts = {
        "pgblend.control": _CONTROL.format(version=newest.version),
        **scripts,
        "META.json": _meta(newest),
        "Makefile": read_script("as_extension/Makefile"),
        "LICENSE": _licence(),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"cannot write the extension into {folder}: {error.strerror}",
            hint="name a folder that is yours",
        ) from error
    return [folder / name for name in texts]


def _releases() -> list[Release]:
    """Return what was released, and the newest revision, released or not, last."""
    versions = runner.released_versions()
    newest = known_revisions()[-1]
    version = metadata("pgblend")["Version"]
    if newest not in versions and version in versions.values():
        raise UserError(
            f"version {version} is released, and revision {newest} is not of it",
            hint="give the next version to pyproject.toml",
        )
    versions.setdefault(newest, version)
    return [Release(brought, revision) for revision, brought in versions.items()]


def _creation(release: Release) -> str:
    """Return the script of CREATE EXTENSION."""
    types = _changed(read_types(), "types", release)
    parts = split(snapshot(release.revision), types)
    return _fill(
        "create.sql",
        {
            "minimum_server": str(MINIMUM_SERVER),
            "minimum_vector": "{" + ",".join(map(str, MINIMUM_VECTOR)) + "}",
            "path": ROUTINES_PATH,
            "planted": read_guard(locks=True),
            "types": types,
            "routines": parts.own + parts.comments,
            "install": _install(release, types),
        },
    )


def _update(former: Release, newest: Release) -> str:
    """Return the script of ALTER EXTENSION UPDATE."""
    types = _changed(read_types(), "types", newest)
    own = split(snapshot(newest.revision), types).own
    names = _former_names(newest)
    return _fill(
        "update.sql",
        {
            "from_revision": former.revision,
            "from_version": former.version,
            "revision": newest.revision,
            "signature": signature(known_revisions(), newest.revision),
            "path": ROUTINES_PATH,
            "planted": read_guard(locks=True),
            "types": _changed("", "types", newest, former),
            "tables": _changed("-- Changes\n", "tables", newest, former),
            "install": _install(newest, types),
            "former": _array(names),
            "own": _array(sorted({*created_names(own, *_KINDS)} & {*names})),
            "routines": own,
        },
    )


def _install(release: Release, types: str) -> str:
    """Return blend.install() and what calls it after an update."""
    script = snapshot(release.revision)
    parts = split(script, types)
    return _fill(
        "install.sql",
        {
            "version": release.version,
            "revision": release.revision,
            "signature": signature(known_revisions(), release.revision),
            "path": ROUTINES_PATH,
            "former": _array(_former_names(release)),
            "tables": _changed(read_tables(), "tables", release),
            "planted": read_guard(locks=True),
            "bound": parts.bound,
            "constraint_triggers": read_script("constraint_triggers.sql"),
            "rest": parts.rest,
            "comment": f"{COMMENT}{digest(script)}",
            "routine_names": _array(created_names(script, "FUNCTION", "PROCEDURE")),
        },
    )


def _changed(first: str, what: str, release: Release, since: Release | None = None) -> str:
    """Add to `first` what revisions changed up to a release, or between two."""
    after = since.revision if since else ""
    revisions = (name for name in known_revisions() if after < name <= release.revision)
    return "\n".join([first, *(read_changes(name, what) for name in revisions)])


def _former_names(release: Release) -> list[str]:
    """Name all that releases before this one made."""
    former = [name for name in runner.released_versions() if name < release.revision]
    return sorted({name for one in former for name in created_names(snapshot(one), *_KINDS)})


def _array(names: list[str]) -> str:
    return "'{" + ", ".join(names) + "}'::text[]"


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Put values in the place of #names; none may end the quotation that it stands in."""
    for name, value in values.items():
        quotes = [tag for tag in _TAGS if tag in value and name != "install"]
        if quotes:
            raise RuntimeError(f"{name} has {quotes[0]}, by which the extension's scripts quote")
    text = read_script(f"as_extension/{template}")
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def _meta(release: Release) -> str:
    """Return META.json, as https://pgxn.org/spec/ has it."""
    version = metadata("pgblend")["Version"]
    requires = {"PostgreSQL": f"{MINIMUM_SERVER}.0.0", "plpython3u": 0, "pg_trgm": 0}
    vector = ".".join(map(str, (*MINIMUM_VECTOR, 0)))
    meta = {
        "name": "pgblend",
        "abstract": _ABOUT,
        "description": metadata("pgblend")["Summary"],
        "version": version,
        "maintainer": ["the pgblend authors"],
        "license": "postgresql",
        "release_status": "testing",
        "provides": {
            "pgblend": {
                "abstract": _ABOUT,
                "file": f"pgblend--{release.version}.sql",
                "version": release.version,
            }
        },
        "prereqs": {"runtime": {"requires": {**requires, "vector": vector}}},
        "tags": ["search", "full text search", "bm25", "vector", "hybrid search"],
        "generated_by": f"pgblend {version}",
        "meta-spec": {"version": "1.0.0", "url": "https://pgxn.org/meta/spec.txt"},
    }
    return json.dumps(meta, indent=2) + "\n"


def _licence() -> str:
    """Return the text of LICENSE, which the package was installed with."""
    texts = (one.read_text("licenses/LICENSE") for one in distributions(name="pgblend"))
    text = next(filter(None, texts), None)  # a build's leftovers in the current folder have none
    if text is None:
        raise RuntimeError("the package pgblend was installed without its LICENSE")
    return text
