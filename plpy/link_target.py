"""Where a link wants to lead."""

from urllib.parse import unquote, urljoin

from pgblend.plpy.link_name import link_name
from pgblend.plpy.path_name import path_name
from pgblend.plpy.uri_name import uri_name


def link_target(
    kind: str, target: str, source_key: str, source_uri: str | None
) -> tuple[str, str, str] | None:
    """Return (kind, name, path): what the target is looked up by; None where it leads nowhere.

    `kind` says how the target is written: path (relative to the source, as in Markdown and HTML),
    wiki, uri, key (a source key) or name (a title, an alias). A path in a page of the web is an
    address, and a path that is an address is one. Fragments lead to the document.
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
