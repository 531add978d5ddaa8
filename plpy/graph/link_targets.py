"""Where a link leads."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile
from urllib.parse import unquote, urljoin

from pgblend.plpy.base.session import Row, Rows
from pgblend.plpy.graph.names import link_name, path_name, uri_name


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
