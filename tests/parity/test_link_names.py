"""Names that links and documents go by, and which document a link means."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from pgblend.plpy.graph.names import (
    MOST_NAMESAKES,
    NameFinder,
    common_names,
    document_names,
    documents_named,
    link_target,
    mentions,
    path_name,
    resolve_link,
    uri_name,
)
from support.database import Database


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("Notes/Read_Me.MD", "notes/read me"),
        (r"notes\PEP-0008.rst", "notes/pep 8"),
        ("./a//b/../c.html", "a/c"),
        ("../../a", "a"),  # not above the root
        ("a/..", ""),
        ("archive.tar", "archive tar"),  # the suffix of no page
        ("x.md.txt", "x md"),
        ("???/a", "???/a"),
        ("", ""),
    ],
)
def test_a_path_is_compared_by_its_parts(path: str, name: str) -> None:
    assert path_name(path) == name


@pytest.mark.parametrize("name", [path_name, lambda text: uri_name(f"https://h/{text}")])
def test_a_name_too_long_for_an_index_is_its_hash(name: Any) -> None:
    one, other = name("a/" * 500 + "b"), name("a/" * 500 + "c")
    assert len(one) == len(other) == 64
    assert one != other
    assert len(name("a" * 700)) >= 700


@given(st.text(st.sampled_from("aB0./\\-#ü"), max_size=30))
def test_a_compared_path_compares_as_itself(path: str) -> None:
    name = path_name(f"{path}/.")  # a folder: what is left has no suffix to lose
    assert path_name(name) == name
    assert path_name(f"/{path}/./x/..") == name


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        (" HTTPS://www.Example.org/A%20b/#part ", "//example.org/A b"),
        ("http://example.org", "//example.org"),
        ("http://example.org/?q=1", "//example.org?q=1"),
        ("http://user:word@example.org:80/x", "//example.org/x"),
        ("ftp://example.org/x", None),
        ("mailto:a@example.org", None),
        ("http:///x", None),
        ("http://[::1", None),
        ("notes/a.md", None),
        ("", None),
    ],
)
def test_an_address_is_compared_by_host_and_path(uri: str, name: str | None) -> None:
    assert uri_name(uri) == name


WEB = "https://www.example.org/guide/start.html"


@pytest.mark.parametrize(
    ("kind", "target", "uri", "meant"),
    [
        ("path", "b.md#part", None, ("path", "notes/b", "notes/b")),
        ("path", "../b%20c.md?raw=1", None, ("path", "b c", "b c")),
        ("path", "/b.md", None, ("path", "b", "b")),
        ("path", "next.html", WEB,
         ("uri", "//example.org/guide/next.html", "//example.org/guide/next.html")),
        ("path", "next.html", "file:///x", ("path", "notes/next", "notes/next")),
        ("path", "https://example.org/x#y", None, ("uri", "//example.org/x", "//example.org/x")),
        ("path", "#part", None, None),
        ("path", "mailto:a@example.org", None, None),
        ("path", "javascript:void(0)", WEB, None),
        ("path", "..", None, None),
        ("uri", "http://example.org/", None, ("uri", "//example.org", "//example.org")),
        ("uri", "b.md", None, None),
        ("wiki", "Other/My Note#Part|as", None, ("wiki", "my note", "other/my note")),
        ("wiki", "My Note", WEB, ("wiki", "my note", "my note")),
        ("wiki", "#Part", None, None),
        ("key", "notes/B.md", None, ("key", "notes/b", "notes/b")),
        ("key", "#", None, ("key", "#", "#")),
        ("name", " Lloyd (film) ", None, ("name", "lloyd film", "lloyd film")),
        ("name", "  ", None, None),
    ],
)  # fmt: skip
def test_where_a_link_wants_to_lead(kind: str, target: str, uri: str | None, meant: Any) -> None:
    assert link_target(kind, target, "notes/a.md", uri) == meant


@pytest.mark.parametrize(
    ("key", "title", "uri", "aliases", "names"),
    [
        ("guide/index.md", "Guide", None, [], [
            ("guide", "path", "guide"), ("guide", "title", "guide"),
            ("guide/index", "path", "guide/index"), ("index", "stem", "guide/index")]),
        ("README.md", "", None, [], [("readme", "path", "readme"), ("readme", "stem", "readme")]),
        ("a/PEP-0008.md", "Style", "https://www.example.org/pep/", ["PEP 8", "x/Old.md"], [
            ("//example.org/pep", "uri", "//example.org/pep"), ("a/pep 8", "path", "a/pep 8"),
            ("old", "alias", "x/old"), ("pep 8", "alias", "pep 8"),
            ("pep 8", "stem", "a/pep 8"), ("style", "title", "style")]),
        ("a", "A", "mailto:a@example.org", ["", "A"], [
            ("a", "alias", "a"), ("a", "path", "a"), ("a", "stem", "a"), ("a", "title", "a")]),
        ("/", "", None, [], []),
    ],
)  # fmt: skip
def test_what_a_document_is_called(
    db: Database, key: str, title: str, uri: str | None, aliases: list[str], names: Any
) -> None:
    assert document_names(key, title, uri, aliases) == names
    query = "SELECT * FROM pgblend._document_names(%s, %s, %s, %s)"
    assert db.rows(query, key, title, uri, Jsonb({"aliases": aliases})) == names


HERE = "a/b/here.md"
NOTE = (1, "a/b/Note.md", "stem", "a/b/note")
FAR = (2, "z/Note.md", "stem", "z/note")
ALIAS = (3, "a/b/x.md", "alias", "note")
TITLE = (4, "a/b/y.md", "title", "note")
WHOLE = (2, "z/Note.md", "path", "z/note")


@pytest.mark.parametrize(
    ("kind", "target", "path", "candidates", "meant"),
    [
        ("wiki", "Note", "note", [FAR, NOTE, ALIAS, TITLE], 1),  # the nearest
        ("wiki", "Note", "note", [FAR, ALIAS, TITLE], 2),  # its own name before an alias
        ("wiki", "Note", "note", [TITLE, ALIAS], 3),
        ("name", "Note", "note", [TITLE], 4),
        ("wiki", "z/Note", "z/note", [NOTE, FAR], 2),
        ("wiki", "q/Note", "q/note", [NOTE, FAR], None),  # neither is there
        ("wiki", "q/Note", "q/note", [FAR], 2),  # it was moved
        ("wiki", "q/Note", "q/note", [FAR, WHOLE], 2),
        ("wiki", "note#x|y", "note", [NOTE, (5, "z/note.md", "stem", "z/note")], 5),
        ("wiki", "Note", "note", [(6, "q/r/Note.md", "stem", ""), (5, "z/Note", "stem", "")], 5),
        ("wiki", "Note", "note", [(6, "y/Note", "stem", ""), (5, "z/Note", "stem", "")], 6),
        ("wiki", "x", "x", [(1, "x", "uri", "x")], None),
        ("path", "z/Note.md", "z/note", [FAR, WHOLE], 2),
        ("path", "Note.md", "a/b/note", [NOTE], None),  # a stem is no path
        ("uri", "http://h", "//h", [(7, "k", "uri", "//h"), WHOLE], 7),
        ("key", "z/Note.md", "z/note", [NOTE, FAR], 2),
        ("key", "z/note.md", "z/note", [NOTE, FAR], None),
        ("wiki", "Note", "note", [], None),
    ],
)
def test_which_document_a_link_means(
    kind: str, target: str, path: str, candidates: Any, meant: int | None
) -> None:
    assert resolve_link(kind, target, path, HERE, candidates) == meant
    assert resolve_link(kind, target, path, HERE, candidates[::-1]) == meant


CANDIDATES = st.lists(
    st.builds(
        lambda number, folder, kind: (number, f"{folder}n{number}.md", kind, f"{folder}note"),
        st.integers(1, 6),
        st.sampled_from(["", "a/", "a/b/", "z/"]),
        st.sampled_from(["path", "stem", "alias", "title", "uri"]),
    ),
    max_size=6,
)


@given(candidates=CANDIDATES, data=st.data(), path=st.sampled_from(["note", "a/note", "q/note"]))
@settings(max_examples=60)
def test_the_order_of_candidates_changes_nothing(candidates: Any, data: Any, path: str) -> None:
    shuffled = data.draw(st.permutations(candidates))
    for kind in ("wiki", "name", "path", "uri"):
        meant = resolve_link(kind, path, path, HERE, candidates)
        assert resolve_link(kind, path, path, HERE, shuffled) == meant
        assert meant is None or meant in {candidate[0] for candidate in candidates}


def names_in(text: str, *named: tuple[int, str]) -> set[str]:
    return NameFinder(documents_named(named)).names_in(text)


def test_names_are_found_longest_first() -> None:
    named = [
        (1, "Harold Lloyd"),
        (2, "Lloyd (film)"),
        (3, "The Harold Lloyd Story"),
        (4, "of"),
        (5, ""),
    ]
    assert names_in("the HAROLD-LLOYD story; Harold Lloyd, and of Lloyd.", *named) == {
        "the harold lloyd story", "harold lloyd", "lloyd",
    }  # fmt: skip
    assert names_in("a film by Lloyd (film)", *named) == {"lloyd film"}
    assert names_in("Harold alone; of", *named) == set()
    assert names_in("", *named) == set()


def test_a_name_of_too_many_documents_is_none() -> None:
    for count, found in ((MOST_NAMESAKES, {"notes"}), (MOST_NAMESAKES + 1, set())):
        assert names_in("my notes", *((number, "Notes") for number in range(count))) == found
    assert documents_named([(1, "John"), (2, "john")]) == {"john": {1, 2}}


def test_mentions_are_of_others_and_not_of_a_word_that_all_use() -> None:
    documents = documents_named([(2, "Wine"), (1, "wine (drink)"), (3, "Sea")])
    found = [(1, 10, "wine"), (3, 30, "wine"), (4, 40, "sea"), (5, 50, "sea"), (6, 60, "sea")]
    wine = [(1, 10, 2, "wine"), (3, 30, 1, "wine"), (3, 30, 2, "wine")]
    assert common_names(found, 2) == {"sea"}
    assert mentions(documents, found, {"sea"}) == wine
    assert common_names(found, 3) == set()
    assert mentions(documents, found[2:], set()) == [
        (4, 40, 3, "sea"), (5, 50, 3, "sea"), (6, 60, 3, "sea"),
    ]  # fmt: skip
    assert mentions(documents, [(1, 10, "wine"), (1, 10, "wine")], set()) == wine[:1]
    assert mentions(documents, [], set()) == []
