"""Links of the documentation lead to files and headings that are there."""

from pathlib import Path

import pytest

from support.documentation import DOCS, ROOT, headings, links

PAGES = [*ROOT.glob("*.md"), *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page: Path) -> None:
    for link in links(page.read_text(encoding="utf-8")):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page}: {link}"
        if anchor:
            assert anchor in headings(target.read_text(encoding="utf-8")), f"{page}: {link}"
        if page.is_relative_to(DOCS):
            assert target.is_relative_to(DOCS), f"{page}: {link} leaves the site"


def test_every_page_is_linked() -> None:
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in PAGES
        for link in links(page.read_text(encoding="utf-8"))
    }
    left_out = {DOCS / "index.md", *DOCS.glob("examples/**/*.md")}
    assert set(DOCS.rglob("*.md")) - linked - left_out == set()
