"""The page about files names each suffix that is read, and none that is not."""

import re
from pathlib import PurePath

from pgblend.cli.documents.document import UnsupportedFormatError
from pgblend.cli.documents.formats import media_type_of, read_suffixes
from support.documentation import ROOT

_PAGE = (ROOT / "docs" / "ingest.md").read_text(encoding="utf-8")
# Suffixes as a table names them: several between one pair of marks.
_NAMED = re.compile(r"`(\.[a-z0-9]+(?: \.[a-z0-9]+)*)`")


def _tables():
    rows = [line.split("|")[1] for line in _PAGE.splitlines() if line.startswith("| ")]
    return {suffix for row in rows for names in _NAMED.findall(row) for suffix in names.split()}


def test_each_suffix_that_is_read_is_in_a_table():
    assert sorted(read_suffixes() - _tables()) == []


def test_each_suffix_in_a_table_is_read():
    refused = set()
    for suffix in _tables():
        try:
            media_type_of(PurePath(f"a{suffix}"), b"text")
        except UnsupportedFormatError:
            refused.add(suffix)
    assert refused == set()
