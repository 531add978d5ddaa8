"""Take the pictures of the explained search and of the page that README and docs/page.md show.

    python tests/browser/pictures.py [FOLDER]

Needs Chromium (docker/chromium.sh). A private server of its own searches the eight files of the
handbook with the local model; the pictures go into FOLDER, docs/images without one. Look at each.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import find_chromium  # noqa: E402
from support.documentation import DOCS, HANDBOOK  # noqa: E402
from support.shell import Shell  # noqa: E402

ASK = "pgblend query 'how do I undo a bad deploy' -c handbook -n 5"  # the first search of README
QUESTION = "who helps when a release goes wrong"  # the arms differ
SHORT_QUESTION = "undo a bad deploy"  # a phone shows all of it
# What a newcomer asks in words of his own, and where the answer is.
QUESTIONS = {
    "what happens after tests pass": "deploy.md",
    QUESTION: "rollback.md",
    "somebody deleted a table": "backup.md",
    "how long is data kept": "backup.md",
    "ERR-1042": "incidents.md",
    "whom do I wake at night": "incidents.md",
    "money for a train ticket": "expenses.md",
    "when am I paid": "expenses.md",
    "my login was stolen": "passwords.md",
    "how many days off do I have": "urlaub.md",
    "where do I get a laptop account": "onboarding.md",
    "what do I read first": "onboarding.md",
}
WIDE = {"width": 1280, "height": 1010}
PHONE = {"width": 400, "height": 860}
PATIENT = '{"embed": 60000, "expand": 60000, "rerank": 60000, "lexical": 60000, "total": 60000}'


@contextmanager
def searched() -> Iterator[Shell]:
    """Run a private server with the handbook and a judged set; yields a shell beside it."""
    with tempfile.TemporaryDirectory(prefix="pgblend-pictures-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the server's account goes through it
        shell = Shell(folder)
        try:
            shell.do(f"pgblend up && pgblend config set timeouts_ms '{PATIENT}'")
            shell.do(f"pgblend ingest {HANDBOOK} -c handbook")
            judged = "; ".join(
                f"SELECT record_judgement('questions', '{question}', '{key}', 1)"
                for question, key in QUESTIONS.items()
            )
            asked = f"SELECT add_judged_set('questions', 'handbook'); {judged}"
            status, printed = shell.run("sql", asked)
            assert status == 0, printed
            yield shell
        finally:
            shell.do("pgblend down")


def explained(browser: Browser, shell: Shell, folder: Path) -> None:
    """Take explain.png: the page down to where its rows come from, of the quickest of some."""
    pages = [shell.folder / f"why{number}.html" for number in range(6)]
    for path in pages:
        shell.do(f"{ASK} --explain-html {path.name}")
    page = browser.new_page(viewport={"width": 1100, "height": 1530})
    page.goto(min(pages, key=time_of).as_uri())
    keep(page, folder / "explain.png")


def time_of(path: Path) -> float:
    """Return the milliseconds of an explained search; a machine that did other things took long."""
    found = re.search(r"<dd>([0-9.]+) ms", path.read_text(encoding="utf-8"))
    return float(found[1]) if found else inf


def served(browser: Browser, shell: Shell, folder: Path, name: str, **options: object) -> None:
    """Take a picture of the page after a search, one row explained where there is room."""
    status, link = shell.run("sh", "pgblend open --print 2>/dev/null")
    assert status == 0, link
    context = browser.new_context(reduced_motion="reduce", **options)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(link.strip())
    is_wide = options["viewport"] == WIDE
    for _ in range(2):  # the first search of a connection takes long
        with page.expect_response("**/v1/facets"):
            page.fill("#query", QUESTION if is_wide else SHORT_QUESTION)
        expect(page.locator("#facts")).to_contain_text("hybrid")
        page.reload()
        expect(page.locator(".row").first).to_be_visible()
    if is_wide:
        page.get_by_label("Judged set").select_option("questions")
        expect(page.locator(".figures")).to_contain_text("questions, each half")
        page.locator(".slider", has_text="vector").locator("input").fill("3")
        expect(page.locator(".figures small").first).not_to_have_text("±0")
        first = page.locator(".row", has_text="Roll back a release").first
        expect(page.locator(".row").first).to_contain_text("Roll back a release")
        first.get_by_role("button", name="Explain").click()
        expect(first).to_contain_text("How it moved")
        page.evaluate("window.scrollTo(0, 0)")
    page.wait_for_timeout(1_000)
    keep(page, folder / name)
    context.close()


def keep(page: Page, path: Path) -> None:
    """Write what the window shows, in 256 colours."""
    page.screenshot(path=path)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    """Take all pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "images"
    program = find_chromium()
    if program is None:
        sys.exit("there is no chromium here: docker/chromium.sh installs one")
    expect.set_options(timeout=120_000)
    with searched() as shell, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        explained(browser, shell, folder)
        for name, viewport, scheme in (
            ("page.png", WIDE, "light"),
            ("page-dark.png", WIDE, "dark"),
            ("page-phone.png", PHONE, "light"),
            ("page-phone-dark.png", PHONE, "dark"),
        ):
            served(browser, shell, folder, name, viewport=viewport, color_scheme=scheme)
        browser.close()


if __name__ == "__main__":
    main()
