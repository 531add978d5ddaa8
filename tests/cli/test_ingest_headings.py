"""Words of files weigh by the level of their heading, whatever their format."""

from collections.abc import Callable
from pathlib import Path

import psycopg
from click.testing import Result
from markdown_it import MarkdownIt

from support.heading_texts import LENGTHS, PLACES, Text, markdown, parts
from support.office_files import paragraph, word


def html(text: Text) -> str:
    return f"<html><body>{MarkdownIt().render(markdown(text))}</body></html>"


def docx(text: Text) -> bytes:
    style = '<w:outlineLvl w:val="{}"/>'
    return word("".join(paragraph(t, style.format(n - 1) if n else "") for n, t in text))


def org(text: Text) -> str:
    return markdown(text).replace("#", "*")


def asciidoc(text: Text) -> str:
    return markdown(text).replace("#", "=")


def latex(text: Text) -> str:
    names = ("", "chapter", "section", "subsection")
    return "\n\n".join(f"\\{names[n]}{{{t}}}" if n else t for n, t in text)


FORMATS: dict[str, Callable[[Text], str | bytes]] = {
    "md": markdown, "html": html, "docx": docx, "org": org, "adoc": asciidoc, "tex": latex,
}  # fmt: skip


def test_a_word_weighs_by_the_level_of_its_heading(
    pgblend: Callable[..., Result], connection: psycopg.Connection, tmp_path: Path
) -> None:
    words = {f"{kind}word{length}": (kind, length) for kind in FORMATS for length in LENGTHS[::2]}
    for asked, (kind, length) in words.items():
        for place in PLACES:
            text = FORMATS[kind](parts(place, length, asked))
            data = text.encode() if isinstance(text, str) else text
            (tmp_path / f"{place}_{length}.{kind}").write_bytes(data)
    done = pgblend("ingest", str(tmp_path), "-c", "c", "--no-embed")
    assert done.exit_code == 0, done.output
    for asked in words:
        found = connection.execute("SELECT source_key FROM blend.lexical_search(%s, 50)", [asked])
        firsts = dict.fromkeys(key.partition("_")[0] for (key,) in found)
        assert list(firsts) == ["h1", "h2", "h3", "body"], asked


def test_comments_of_code_are_no_headings(
    pgblend: Callable[..., Result], connection: psycopg.Connection, tmp_path: Path
) -> None:
    (tmp_path / "fenced.md").write_text("# Guide\n\nIntro.\n\n```\n## turbine\n```\n")
    (tmp_path / "code.py").write_text("x = 1\n\n## turbine\n\ny = 2\n")
    (tmp_path / "page.html").write_text("<h2>Guide</h2><pre>## turbine</pre>")
    done = pgblend("ingest", str(tmp_path), "-c", "c", "--no-embed")
    assert done.exit_code == 0, done.output
    counts = connection.execute(
        "SELECT d.source_key, l.weights FROM pgblend_data.chunk AS c"
        " JOIN pgblend_data.document AS d ON d.id = c.document_id"
        " CROSS JOIN unnest(c.lexemes) AS l WHERE l.lexeme = 'turbin' ORDER BY 1"
    ).fetchall()
    assert counts == [(key, ["D"]) for key in ("code.py", "fenced.md", "page.html")]
