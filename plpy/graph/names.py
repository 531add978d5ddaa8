"""Names as links and texts write them, made comparable; entities by name."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from pgblend.plpy.lexical.forms import small, unicode_form

LINK_WORD = re.compile(r"[^\W_]+")


def name_words(text: str) -> list[str]:
    """Return the words without case, punctuation and leading zeros: PEP-0008 is ["pep", "8"]."""
    words = LINK_WORD.findall(small(unicode_form(text)))
    return [(word.lstrip("0") or "0") if word.isdecimal() else word for word in words]


LONGEST_NAME_BYTES = 800


def link_name(text: str) -> str:
    """Return a name without case, punctuation and leading zeros: PEP-0008 is "pep 8".

    Of a text that has no letter or digit its characters stay. A name too long for an index is its
    hash.
    """
    name = " ".join(name_words(text)) or " ".join(text.casefold().split())
    encoded = name.encode()
    return name if len(encoded) <= LONGEST_NAME_BYTES else hashlib.sha256(encoded).hexdigest()


# A page is often linked to by the name of what it is built from, or the other way round.
PAGE_SUFFIX = re.compile(r"\.(md|markdown|mdown|mkd|html?|xhtml|rst|txt|adoc|org|tex)$", re.I)


def path_name(path: str) -> str:
    """Return a path with each part as link_name has it, without the suffix of a page.

    The parts "." and ".." are followed, not above the root; empty ones are left out.
    """
    parts: list[str] = []
    for part in PAGE_SUFFIX.sub("", path.replace("\\", "/")).split("/"):
        if part == "..":
            parts[-1:] = []
        elif part not in ("", "."):
            parts.append(part)
    names = [link_name(part) for part in parts]
    joined = "/".join(name for name in names if name)
    return joined if len(joined.encode()) <= LONGEST_NAME_BYTES else link_name(joined)


def uri_name(uri: str) -> str | None:
    """Return host and path of an http address, without the fragment; None for what is none."""
    try:
        parts = urlsplit(uri.strip())
        host = parts.hostname
    except ValueError:
        return None
    if parts.scheme.lower() not in ("http", "https") or not host:
        return None
    name = f"//{host.removeprefix('www.')}{unquote(parts.path).rstrip('/')}"
    name += f"?{parts.query}" if parts.query else ""
    return name if len(name.encode()) <= LONGEST_NAME_BYTES else link_name(name)


# A folder's page is called by its folder.
FOLDER_PAGES = ("index", "readme")


def document_names(
    source_key: str, title: str, uri: str | None, aliases: Iterable[str]
) -> list[tuple[str, str, str]]:
    """Return (name, kind, full name), each once: what links look a document up by.

    Kinds: path, the whole source key; stem, its last part; uri, an http address; alias; title.
    """
    path = path_name(source_key)
    folder, _, stem = path.rpartition("/")
    found = {(path, "path", path), (stem, "stem", path)}
    if stem in FOLDER_PAGES and folder:
        found.add((folder, "path", folder))
    address = uri_name(uri) if uri else None
    if address:
        found.add((address, "uri", address))
    for alias in aliases:
        whole = path_name(alias)
        found.add((whole.rpartition("/")[2], "alias", whole))
    found.add((link_name(title), "title", link_name(title)))
    return sorted(names for names in found if names[0])


# What a model found in a text, merged and normalised.

EntityKey = tuple[str, str]


def entity_edges(
    result: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], list[tuple[EntityKey, EntityKey, str]]]:
    """Return entities {type, key, name, description}, each once, and (source, target, type).

    Names are compared by link_name, types without case. A relation between names of which the text
    has several entities means the first. One to itself, or to a name that is no entity, is left
    out. `result` has `entities` and `relations`.
    """
    entities: dict[EntityKey, dict[str, Any]] = {}
    by_name: dict[str, EntityKey] = {}
    for entity in result["entities"]:
        key = (link_name(entity["type"]), link_name(entity["name"]))
        if not all(key):
            continue
        name, description = " ".join(entity["name"].split())[:500], entity.get("description")
        described = {"type": key[0], "key": key[1], "name": name}
        entities.setdefault(key, described | {"description": description or None})
        by_name.setdefault(key[1], key)
    relations: dict[tuple[EntityKey, EntityKey, str], None] = {}
    for relation in result.get("relations") or []:
        ends = [by_name.get(link_name(relation[end])) for end in ("source", "target")]
        kind = "_".join(link_name(relation["type"]).split())[:60]
        source, target = ends
        if source and target and source != target and kind:
            relations[source, target, kind] = None
    return list(entities.values()), list(relations)
