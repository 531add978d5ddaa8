"""Names as links and texts write them, and what they mean: entities, targets and documents."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, TypeAlias
from urllib.parse import unquote, urljoin, urlsplit

from pgblend.plpy.base.session import Row, Rows
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


def link_target(
    kind: str, target: str, source_key: str, source_uri: str | None
) -> tuple[str, str, str] | None:
    """Return (kind, name, path): what the target is looked up by; None where it leads nowhere.

    `kind` says how the target is written: path, wiki, uri, key (a source key) or name (a title, an
    alias). Paths are relative to the source, as in Markdown and HTML. A path in a page of the web
    is an address, and a path that is an address is one. Fragments lead to the document.
    """
    if kind == "key":
        return kind, path_name(target), path_name(target)
    if kind == "name":
        return (kind, link_name(target), link_name(target)) if target.strip() else None
    bare = target.partition("#")[0].strip()
    if kind == "wiki":
        path = path_name(bare.partition("|")[0])
        return (kind, path.rpartition("/")[2], path) if path else None
    if not bare:
        return None
    if source_uri and uri_name(source_uri) and kind == "path":
        bare = urljoin(source_uri, bare)
    address = uri_name(bare)
    if address:
        return "uri", address, address
    if kind == "uri" or ":" in bare.partition("/")[0]:
        return None  # mailto:, javascript:, another application's
    folder = "" if bare.startswith("/") else source_key.rpartition("/")[0]
    path = path_name(f"{folder}/{unquote(bare.partition('?')[0])}")
    return ("path", path, path) if path else None


# document id, source key, kind of name, full name
Candidate = tuple[int, str, str, str]
NAME_KINDS = ("path", "stem", "alias", "title")


def resolve_link(
    kind: str, target: str, path: str, source_key: str, candidates: Sequence[Candidate]
) -> int | None:
    """Return the id of the document meant, None where there is none.

    A key, a path and an address must be met as a whole. A wiki link and a name mean a document of
    that name. It lies below the folders written; else its own name comes before an alias, and that
    before a title. Then one written alike counts, then the nearest in folders, then the shortest
    path. Folders that no document of the name is in are passed over where one document only has the
    name. It was moved. Does not depend on the candidates' order.
    """
    fitting = [
        candidate
        for candidate in candidates
        if (
            candidate[1] == target
            if kind == "key"
            else candidate[2:] == (kind, path)
            if kind in ("path", "uri")
            else candidate[2] in NAME_KINDS
        )
    ]
    if kind == "wiki" and "/" in path:
        below = [each for each in fitting if f"/{each[3]}".endswith(f"/{path}")]
        if below:
            fitting = below
        elif len({each[0] for each in fitting}) > 1:
            fitting = []
    written = target.partition("#")[0].partition("|")[0].strip().rpartition("/")[2]
    folders = source_key.split("/")[:-1]

    def order(candidate: Candidate) -> tuple[bool, int, bool, int, int, str, int]:
        document_id, key, name_kind, full_name = candidate
        *own_folders, own_name = key.split("/")
        pairs = zip(folders, own_folders, strict=False)
        shared = takewhile(lambda pair: pair[0] == pair[1], pairs)
        return (
            "/" not in path or full_name != path,
            NAME_KINDS.index(name_kind) if name_kind in NAME_KINDS else 0,
            written not in (own_name, own_name.rpartition(".")[0]),
            -sum(1 for _ in shared),
            len(own_folders),
            key,
            document_id,
        )

    return min(fitting, key=order)[0] if fitting else None


def meant_by(links: Rows, candidates: Rows) -> list[tuple[Row, int | None]]:
    """Return the links that lead elsewhere than they should, each with where that is."""
    by_name: defaultdict[str, list[Candidate]] = defaultdict(list)
    for row in candidates:
        by_name[row["name"]].append(
            (row["document_id"], row["source_key"], row["kind"], row["full_name"])
        )
    changed = []
    for link in links:
        meant = resolve_link(
            link["kind"], link["target"], link["path"], link["source_key"], by_name[link["name"]]
        )
        if meant != link["target_document_id"]:
            changed.append((link, meant))
    return changed


Found: TypeAlias = tuple[int, int, str]  # document, chunk, name
Mention: TypeAlias = tuple[int, int, int, str]  # document, chunk, document meant, name
Documents: TypeAlias = Mapping[str, set[int]]

# What tells things of one name apart: "Lloyd (film)".
NAME_QUALIFIER = re.compile(r"\s*\([^()]*\)\s*$")
# A name that so many documents have tells none of them.
MOST_NAMESAKES = 5


class NameFinder:
    """Finds names, as name_words has them, in texts.

    The longest counts where several begin at a word.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self.most_words: dict[str, int] = {}
        for name in self.names:
            words = name.split(" ")
            self.most_words[words[0]] = max(self.most_words.get(words[0], 0), len(words))

    def names_in(self, text: str) -> set[str]:
        """Return the names that a text has, longest first from the left."""
        words = name_words(text)
        found = set()
        place = 0
        while place < len(words):
            step = 1
            for count in range(self.most_words.get(words[place], 0), 0, -1):
                name = " ".join(words[place : place + count])
                if name in self.names:
                    found.add(name)
                    step = count
                    break
            place += step
        return found

    def found_in(self, texts: Iterable[Mapping[str, Any]]) -> list[Found]:
        """Return the names of texts, each of a chunk (id) of a document."""
        return [
            (row["document_id"], row["id"], name)
            for row in texts
            for name in sorted(self.names_in(row["text"]))
        ]


def documents_named(named: Iterable[tuple[int, str]]) -> Documents:
    """Return the documents of each name, of (document, title or alias); few letters are none."""
    documents: defaultdict[str, set[int]] = defaultdict(set)
    for document_id, name in named:
        for form in (name, NAME_QUALIFIER.sub("", name)):
            words = name_words(form)
            if sum(map(len, words)) > 2:
                documents[" ".join(words)].add(document_id)
    return {name: those for name, those in documents.items() if len(those) <= MOST_NAMESAKES}


def most_documents(count: int) -> int:
    """Return how many of `count` documents may mention a name: one of more is a word."""
    return max(10, count // 100)


def common_names(found: Iterable[Found], most: int) -> set[str]:
    """Return the names that more than `most` documents mention."""
    mentioned_by: defaultdict[str, set[int]] = defaultdict(set)
    for document_id, _, name in found:
        mentioned_by[name].add(document_id)
    return {name for name, documents in mentioned_by.items() if len(documents) > most}


def mentions(documents: Documents, found: Iterable[Found], common: set[str]) -> list[Mention]:
    """Return what names found in chunks mean, each once a chunk; common ones mean nothing."""
    meant: dict[tuple[int, int, int], str] = {}
    for document_id, chunk_id, name in found:
        if name not in common:
            for target in sorted(documents[name]):
                if target != document_id:
                    meant.setdefault((document_id, chunk_id, target), name)
    return [(*ends, name) for ends, name in meant.items()]
