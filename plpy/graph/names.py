"""Names as links and texts write them, made comparable, and found in texts."""

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote, urlsplit

LINK_WORD = re.compile(r"[^\W_]+")


def name_words(text: str) -> list[str]:
    """Return the words without case, punctuation and leading zeros: PEP-0008 is ["pep", "8"]."""
    words = LINK_WORD.findall(unicodedata.normalize("NFKC", text).casefold())
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


# What tells things of one name apart: "Lloyd (film)".
NAME_QUALIFIER = re.compile(r"\s*\([^()]*\)\s*$")
# A name that so many documents have tells none of them.
MOST_NAMESAKES = 5


class NamedDocuments:
    """Documents by their names, given as (document id, name): a title or an alias.

    The longest name counts where several begin at a word.
    """

    def __init__(self, named: Iterable[tuple[int, str]]) -> None:
        self.documents: dict[str, set[int]] = defaultdict(set)
        self.most_words: dict[str, int] = {}
        for document_id, name in named:
            for form in (name, NAME_QUALIFIER.sub("", name)):
                words = name_words(form)
                if sum(map(len, words)) > 2:
                    self.documents[" ".join(words)].add(document_id)
        for name, documents in list(self.documents.items()):
            if len(documents) > MOST_NAMESAKES:
                del self.documents[name]
                continue
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
                if name in self.documents:
                    found.add(name)
                    step = count
                    break
            place += step
        return found

    def mentions(
        self, found: Sequence[tuple[int, int, str]], most_documents: int
    ) -> list[tuple[int, int, int, str]]:
        """Return (document, chunk, document meant, name) of names found in chunks of documents.

        A name that more than `most_documents` documents mention is a word, not a name.
        """
        mentioned_by: Mapping[str, set[int]] = defaultdict(set)
        for document_id, _, name in found:
            mentioned_by[name].add(document_id)
        return [
            (document_id, chunk_id, meant, name)
            for document_id, chunk_id, name in found
            if len(mentioned_by[name]) <= most_documents
            for meant in sorted(self.documents[name])
            if meant != document_id
        ]
