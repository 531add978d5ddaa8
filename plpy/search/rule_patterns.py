"""Which rules hold for a query, and the documents that they name."""

import json
import re
from collections.abc import Sequence

from pgblend.plpy.base.catalog import ForQuery
from pgblend.plpy.base.filters import LEAST_LIMIT
from pgblend.plpy.lexical.forms import WITH_UNIT, small, unicode_form
from pgblend.plpy.lexical.query import TYPED_DASHES, plain_quotes


def fits(pattern: str, query: str) -> bool:
    """Tell whether a query is as a pattern says, in which * stands for anything.

    Case, spaces, forms of Unicode, kinds of quotes and spellings of numbers do not count.
    """
    asked, written = spelt(pattern), spelt(query)
    return matches(asked, written) or matches(numbered(asked), numbered(written))


def spelt(text: str) -> str:
    """Return a query or pattern in small letters and one form, with single spaces."""
    plain = re.sub(TYPED_DASHES, "--", unicode_form(plain_quotes(text)))
    return " ".join(small(plain).split())


def numbered(text: str) -> str:
    """Return a query or pattern whose numbers have no commas, and no space before a unit."""
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    return re.sub(f"(?i){WITH_UNIT}", r"\1\2", text)


def matches(pattern: str, text: str) -> bool:
    """Tell whether a text is as a pattern says.

    Each part between two * is looked for after the one before, so time grows with the length alone.
    """
    first, *rest = pattern.split("*")
    if not rest:
        return text == first
    *middle, last = rest
    if not text.startswith(first) or len(text) < len(first) + len(last):
        return False
    place, end = len(first), len(text) - len(last)
    for part in middle:
        place = text.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return text.endswith(last)


def for_query(rules: Sequence[ForQuery], query: str | None) -> dict[str, str]:
    """Return the documents that rules name for a query, each once, with the pattern."""
    named: dict[str, str] = {}
    for rule in rules:
        if fits(rule["query"], query or ""):
            for key in rule["documents"]:
                named.setdefault(key, rule["query"])
    return named


def without_hidden(filter_: str | None, rules: Sequence[ForQuery], query: str | None) -> str | None:
    """Return a filter (JSON) that leaves out what rules hide for a query, too."""
    hidden = list(for_query(rules, query))
    if not hidden:
        return filter_
    lists = [hidden[start : start + LEAST_LIMIT] for start in range(0, len(hidden), LEAST_LIMIT)]
    conditions = [
        json.dumps({"not": {"or": [{"$source_key": {"in": names}}, {"$uri": {"in": names}}]}})
        for names in lists
    ]
    given = [] if filter_ is None else [filter_]
    return f'{{"and": [{", ".join([*given, *conditions])}]}}'
