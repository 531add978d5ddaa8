"""What a document may be called."""

from collections.abc import Iterable

from pgblend.plpy.link_name import link_name
from pgblend.plpy.path_name import path_name
from pgblend.plpy.uri_name import uri_name

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
