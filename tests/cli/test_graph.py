"""`pgblend graph`, links at ingest, and the truth about two real collections."""

import csv
import json
import lzma
from pathlib import Path

import psycopg
import pytest

from pgblend.cli.graph.neighbourhood import (
    Neighbourhood,
    ShownEdge,
    ShownNode,
    distinct_titles,
    draw,
    radial_layout,
    render_page,
)

NOTES = {
    "Home.md": "# Home\n\nSee [[Sub Note]] and [the guide](sub/guide.md#top) and [[Later]].\n",
    "sub/Sub note.md": "---\naliases: [Other Name]\n---\nBack to [[home]].",
    "sub/guide.md": "`[[Home]]` is code.\n\n![[Other name]]",
    "page.html": "<p><a href='sub/guide.html'>g</a> <a href='https://example.org/'>e</a>",
}


@pytest.fixture
def vault(tmp_path: Path, pgblend) -> Path:
    for name, text in NOTES.items():
        path = tmp_path / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    ingest(pgblend, tmp_path / "vault")
    return tmp_path / "vault"


def ingest(pgblend, *arguments: object) -> None:
    paths = [str(argument) for argument in arguments]
    result = pgblend("ingest", *paths, "--collection", "c", "--no-embed", "--lang", "english")
    assert result.exit_code == 0, result.output


def links(pgblend, *arguments: str) -> set[tuple[str, str, str | None, int | None]]:
    result = pgblend("graph", "edges", "-c", "c", "--json", *arguments)
    return {
        (row["source_key"], row["edge_type"], row["target_key"], row["line"])
        for row in json.loads(result.stdout)["edges"]
    }


def test_links_at_ingest(vault: Path, pgblend, parse_valid) -> None:
    assert parse_valid(pgblend("graph", "edges", "--json"), "graph-edges")["edges"]
    assert links(pgblend) == {
        ("Home.md", "link", "sub/Sub note.md", 3),
        ("Home.md", "link", "sub/guide.md", 3),
        ("Home.md", "link", None, 3),
        ("sub/Sub note.md", "link", "Home.md", 4),
        ("sub/guide.md", "embed", "sub/Sub note.md", 3),
        ("page.html", "link", "sub/guide.md", 1),
        ("page.html", "link", None, 1),
    }
    assert {row[0] for row in links(pgblend, "--dangling")} == {"Home.md", "page.html"}


def test_a_file_that_moved_and_one_that_came_later(vault: Path, pgblend) -> None:
    (vault / "sub" / "Sub note.md").rename(vault / "Sub note.md")
    (vault / "sub" / "later.txt").write_text("here")
    ingest(pgblend, vault, "--prune")
    found = {(source, target) for source, _, target, _ in links(pgblend)}
    assert {("Home.md", "Sub note.md"), ("Home.md", "sub/later.txt")} <= found
    assert ("sub/guide.md", "Sub note.md") in found


def test_neighbors_show_and_search(vault: Path, pgblend, parse_valid, tmp_path: Path) -> None:
    near = parse_valid(
        pgblend("graph", "neighbors", "page.html", "-c", "c", "--depth", "2", "--json"),
        "graph-neighbors",
    )["neighbors"]
    assert [(row["source_key"], row["distance"]) for row in near] == [
        ("sub/guide.md", 1), ("Home.md", 2), ("sub/Sub note.md", 2),
    ]  # fmt: skip
    found = parse_valid(
        pgblend("graph", "search", "--seed", "page.html", "-c", "c", "--json"), "search-results"
    )["results"]
    assert [(row["source_key"], row["score"]) for row in found] == [
        ("page.html", 1.0),
        ("sub/guide.md", 0.5),
    ]
    table = pgblend("graph", "neighbors", "page.html", "--depth", "2").stdout.splitlines()
    assert [line.split()[0] for line in table[2:]] == ["guide.md", "Home", "Sub"]
    shown = pgblend("graph", "show", "page.html").stdout
    assert "page.html -- link -> guide.md" in shown
    svg, html = tmp_path / "p.svg", tmp_path / "p.html"
    result = pgblend("graph", "show", near[1]["neighbour"], "--svg", str(svg), "--html", str(html))
    assert result.exit_code == 0
    assert svg.read_text().count('class="node"') == 4
    assert html.read_text().count("<tr>") == 1 + 5
    broken = pgblend("graph", "show", near[1]["neighbour"], "--svg", str(tmp_path))
    assert broken.exit_code == 2


def test_wrong_nodes(vault: Path, pgblend) -> None:
    for arguments, problem in (
        (["neighbors", "nope.md"], "is no node"),
        (["neighbors", "document:x"], "is no node"),
        (["neighbors", "document:99"], "there is no node document:99"),
        (["neighbors", "x", "-c", "c"], "there is no document"),
        (["search"], "NO_SEEDS"),
        (["search", "x", "--seed", "document:1"], "expected one of them"),
    ):
        result = pgblend("graph", *arguments)
        assert result.exit_code != 0, arguments
        assert problem in result.stderr
        assert "hint:" in result.stderr


def test_import(vault: Path, pgblend, parse_valid, tmp_path: Path) -> None:
    table = tmp_path / "links.tsv.xz"
    rows = "src\tdst\ttype\tweight\nHome.md\tsub/guide.md\tcites\t2\nHome.md\tnew\t\t\nx\ty\t\t\n\n"
    table.write_bytes(lzma.compress(rows.encode()))
    for _ in range(2):  # again: the same
        result = pgblend("graph", "import", str(table), "-c", "c", "--type", "see", "--json")
        done = parse_valid(result, "graph-import")
        assert done == {"stored": 2, "dangling": 1, "unknown_sources": ["x"]}
        assert "1 sources are not there: 'x'" in result.stderr
    assert {row for row in links(pgblend) if row[1] in ("cites", "see")} == {
        ("Home.md", "cites", "sub/guide.md", None),
        ("Home.md", "see", None, None),
    }


def test_import_of_links_without_a_known_source(
    vault: Path, pgblend, parse_valid, tmp_path: Path
) -> None:
    table = tmp_path / "links.csv"
    table.write_text("src,dst\nx,y\n")
    done = parse_valid(pgblend("graph", "import", str(table), "-c", "c", "--json"), "graph-import")
    assert done == {"stored": 0, "dangling": 0, "unknown_sources": ["x"]}


def test_wrong_tables(vault: Path, pgblend, tmp_path: Path) -> None:
    for text, problem in (
        ("", "has the columns (none)"),
        ("a,b\n", "has the columns a, b"),
        ("src,dst\n,x\n", "line 2: a link without source or target"),
        ("src,dst,weight\na,b,heavy\n", "line 2: weight 'heavy' is no number"),
        ("src,dst,metadata\na,b,[]\n", "line 2: metadata is no JSON object"),
        ("src,dst\n\x00\xff", "cannot be read"),
    ):
        table = tmp_path / "links.csv"
        table.write_bytes(text.encode("latin-1"))
        result = pgblend("graph", "import", str(table), "-c", "c")
        assert result.exit_code == 1, text
        assert problem in result.stderr


def test_mentions_on_request_and_by_the_setting(
    vault: Path, pgblend, connection: psycopg.Connection
) -> None:
    count = "SELECT count(*) FROM blend.edges WHERE edge_type = 'mentions'"
    (vault / "said.txt").write_text("It says other name and nothing else.")
    ingest(pgblend, vault)
    assert connection.execute(count).fetchone() == (0,)
    assert pgblend("graph", "mentions", "-c", "c").exit_code == 0
    found = connection.execute(count).fetchone()
    assert found is not None
    assert found[0] >= 1
    connection.execute("DELETE FROM pgblend_data.edge WHERE origin = 'mention'")
    connection.execute("SELECT set_collection_settings('c', '{\"mentions\": true}')")
    ingest(pgblend, vault)
    assert connection.execute(count).fetchone() == found


def test_a_picture_of_hostile_names() -> None:
    nodes = [ShownNode("document:1", "document", "<b>&\"'", "k", 0, "")] + [
        ShownNode(f"entity:{n}", "entity", f"</title><script>{n}" + "x" * 99, "", 1, "document:1")
        for n in range(40)
    ]
    edges = [ShownEdge(node.name, "document:1", "a<b") for node in nodes[1:]]
    around = Neighbourhood(nodes, edges)
    for text in (draw(around), render_page(around)):
        assert "<script" not in text
        assert "<b>" not in text
        assert "a<b" not in text
    alone = draw(Neighbourhood(nodes[:1], []))
    assert alone.count('class="node"') == 1


def test_nodes_of_one_title_are_told_apart() -> None:
    rows = [
        {"node": "document:1", "title": "Guide", "source_key": "a/guide.md"},
        {"node": "document:2", "title": "Guide", "source_key": "b/guide.md"},
        {"node": "entity:7", "title": "Guide", "source_key": None},
        {"node": "chunk:3", "title": "Wine: Red", "source_key": "wine.md"},
        {"node": "chunk:4", "title": "Wine: Red", "source_key": "wine.md"},
        {"node": "document:5", "title": "Sea", "source_key": "sea.md"},
    ]
    assert distinct_titles(rows) == [
        "Guide (a/guide.md)",
        "Guide (b/guide.md)",
        "Guide (entity:7)",
        "Wine: Red (chunk:3)",
        "Wine: Red (chunk:4)",
        "Sea",
    ]


def test_no_two_nodes_in_one_place() -> None:
    nodes = [ShownNode("document:0", "document", "t", "", 0, "")]
    nodes += [
        ShownNode(f"document:{n}", "document", "t", "", 1, "document:0") for n in range(1, 60)
    ]
    nodes += [
        ShownNode(f"document:{n}", "document", "t", "", 2, "document:1") for n in range(60, 90)
    ]
    spots, radii = radial_layout(nodes, 200)
    assert len({(round(spot.x, 3), round(spot.y, 3)) for spot in spots.values()}) == len(nodes)
    assert len(radii) == 3
    assert radii == sorted(radii)


# --- the truth


def precision_and_recall(found: set, truth: set) -> tuple[float, float]:
    return len(found & truth) / len(found), len(found & truth) / len(truth)


@pytest.mark.slow
@pytest.mark.data
def test_wiki_links_of_a_real_vault(shared_data: Path, pgblend) -> None:
    """Of names that two notes of a language have, the truth ignores the folder that is written.

    So those four names are left out, as are links of a note to itself.
    """
    folder = shared_data / "obsidian_vault"
    ingest(pgblend, folder, "--include", "*.md", "--exclude", "SOURCE.md")
    twice = ("Vorlagen", "Sicherheit und Datenschutz", "Templates", "Security and privacy")
    with (folder / "links.tsv").open(encoding="utf-8") as lines:
        truth = {
            (source, target)
            for source, target in list(csv.reader(lines, delimiter="\t"))[1:]
            if source != target and Path(target).stem not in twice
        }
    found = {
        (source, target)
        for source, _, target, _ in links(pgblend, "-n", "100000")
        if target not in (None, source) and Path(target).stem not in twice
    }
    precision, recall = precision_and_recall(found, truth)
    assert len(truth) > 1700
    assert precision >= 0.98  # what is too much are links in tables: [[a\|b]]
    assert recall >= 0.98


@pytest.mark.data
@pytest.mark.slow
def test_citations_of_real_documents(shared_data: Path, pgblend, tmp_path: Path) -> None:
    folder = shared_data / "ir" / "peps_graph"
    corpus = tmp_path / "peps.jsonl"
    corpus.write_bytes(lzma.decompress((folder / "corpus.jsonl.xz").read_bytes()))
    ingest(pgblend, corpus)
    rows = list(csv.reader((folder / "links.tsv").open(encoding="utf-8"), delimiter="\t"))[1:]
    truth = {(source, target) for source, target, kind in rows if kind == "mentions"}
    found = {(s, t) for s, _, t, _ in links(pgblend, "-n", "100000") if t not in (None, s)}
    assert min(precision_and_recall(found, truth)) >= 0.98
    given = pgblend("graph", "import", str(folder / "links.tsv"), "-c", "c", "--json")
    assert json.loads(given.stdout) == {"stored": 1772, "dangling": 0, "unknown_sources": []}
