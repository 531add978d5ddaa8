"""What documents are called: front matter, one h1 at the top, metadata with words, the file."""

from pathlib import Path

import pytest

from pgblend.cli.documents.document import stated_title
from pgblend.cli.documents.formats import media_type_of, parse_file


def title_of(name: str, data: bytes) -> str:
    return parse_file(data, media_type_of(Path(name), data), name, f"file:///{name}").title


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("---\ntitle: Front\n---\n# Heading\n", "Front"),
        ("---\ntitle: 1984\n---\nA novel.\n", "1984"),
        ("---\ntitle: true\n---\nNo title.\n", "a/note.md"),
        ("# Heading\n\ntext\n\n## Example\n", "Heading"),
        ("Heading\n=======\n\ntext\n", "Heading"),
        ("---\ntags: [a]\n---\n\n# Heading\n", "Heading"),
        (
            "![logo](logo.png)\n[![build](b.svg)](https://ci)\n<p><img src=x></p>\n\n# Tool\n",
            "Tool",
        ),
        ("text first\n\n## Example\n\nmore\n", "a/note.md"),
        ("## Example\n\n# Late\n", "a/note.md"),
        ("Some words.\n\n# Not at the top\n", "a/note.md"),
        ("# One\n\n# Two\n", "a/note.md"),
        ("no heading\n", "a/note.md"),
    ],
)
def test_markdown(source: str, title: str) -> None:
    assert title_of("a/note.md", source.encode()) == title.removeprefix("a/")


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("<title>Page &amp; more</title><h1>Logo</h1>", "Page & more"),
        ("<title>1</title><h1>Heading</h1><p>x", "Heading"),
        ("<p>menu<h1>Heading</h1><h2>Part</h2>", "Heading"),
        ("<h3>Part</h3><p>x", "page.html"),
        ("<h1>One</h1><h1>Two</h1>", "page.html"),
    ],
)
def test_html(source: str, title: str) -> None:
    assert title_of("page.html", source.encode()) == title


@pytest.mark.parametrize(
    "said", ["A report", "Q3 sales", "IT", "東京", "Отчёт 2024", "Slides of 1984"]
)
def test_metadata_with_words_are_a_title(said: str) -> None:
    assert stated_title(f" {said} ") == said


@pytest.mark.parametrize(
    "said",
    [
        *("", "  ", "1", "20240131", "1.2-3", "Untitled", "untitled-1", "Document1", "Slide 1"),
        *("Word Document", "PowerPoint Presentation", "Microsoft Word - a.doc", "scan0001.JPG"),
    ],
)
def test_metadata_that_name_nothing(said: str) -> None:
    assert stated_title(said) == ""


@pytest.mark.data
def test_notes_of_a_vault_are_called_as_their_author_calls_them(shared_data: Path) -> None:
    vault = shared_data / "obsidian_vault"
    titles = {path.name: title_of(path.name, path.read_bytes()) for path in vault.rglob("*.md")}
    assert len(titles) > 150
    assert titles["Bases syntax.md"] == "Bases syntax.md"
    others = {name: title for name, title in titles.items() if name != title}
    assert others == {
        "Home.md": "Obsidian Help",
        "Startseite.md": "Obsidian-Hilfe",
        "SOURCE.md": others["SOURCE.md"],
    }


@pytest.mark.parametrize(
    ("head", "is_text"),
    [
        ("Urgent: the pump in cellar 4 leaks", True),
        ("Meeting: Monday\nPlace: Hall", True),
        ("Tags: pumps\nUrgent: leaks", False),
        ("Datum: 16.03.2024", False),
    ],
)
def test_what_lines_stand_around_in_a_plain_text_stays_text(head: str, is_text: bool) -> None:
    data = f"---\n{head}\n---\nCall Ann.\n".encode()
    document = parse_file(data, media_type_of(Path("a.txt"), data), "a.txt", "file:///a.txt")
    assert (head in document.text) == is_text
    assert (document.metadata == {"type": "TEXT"}) == is_text
