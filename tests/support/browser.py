"""A headless Chromium: what becomes of a page in it, and a picture of it."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # it refuses to run as root otherwise
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--virtual-time-budget=2000",
    "--enable-logging=stderr",
    "--v=0",
)
_CONSOLE = re.compile(r'INFO:CONSOLE[^"]*"(.*)", source:', re.DOTALL)


def find_chromium() -> str | None:
    """Return the path of PGBLEND_CHROMIUM or of an installed one; None where there is none."""
    named = (os.environ.get("PGBLEND_CHROMIUM"), *_PROGRAMS)
    return next((found for name in named if name and (found := shutil.which(name))), None)


@dataclass(frozen=True)
class Browser:
    """A Chromium, and a folder of its own for its profile."""

    program: str
    folder: Path

    def dom(self, page: Path, *flags: str) -> tuple[LexborHTMLParser, list[str]]:
        """Return the page's elements after its scripts ran, and what the console said."""
        done = self._run("--dump-dom", *flags, page=page)
        return LexborHTMLParser(done.stdout), console_messages(done.stderr)

    def screenshot(self, page: Path, width: int, height: int, *flags: str) -> Path:
        """Take a picture of the page as PNG."""
        picture = self.folder / f"{page.stem}-{width}.png"
        picture.unlink(missing_ok=True)
        self._run(f"--screenshot={picture}", f"--window-size={width},{height}", *flags, page=page)
        return picture

    def scroll_widths(self, page: Path, width: int, parts: str = "html") -> list[int]:
        """Return how wide parts are inside when the page, all unfolded, is so wide."""
        frame = page.with_name("frame.html")
        frame.write_text(
            f'<!DOCTYPE html><body><iframe width="{width}" src="{page.name}"></iframe><script>'
            'document.querySelector("iframe").onload = (event) => {'
            "  const page = event.target.contentDocument;"
            '  page.querySelectorAll("details").forEach((part) => part.open = true);'
            f"  document.title = Array.from(page.querySelectorAll({json.dumps(parts)}),"
            "    (part) => part.scrollWidth); };</script>",
            encoding="utf-8",
        )
        tree, _ = self.dom(frame, "--allow-file-access-from-files")
        title = tree.css_first("title")
        return [int(each) for each in title.text().split(",")] if title else []

    def _run(self, *flags: str, page: Path) -> subprocess.CompletedProcess[str]:
        profile = f"--user-data-dir={self.folder / 'profile'}"
        return subprocess.run(
            [self.program, *_FLAGS, profile, *flags, page.as_uri()],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )


def console_messages(log: str) -> list[str]:
    """Find what a page wrote to its console, errors and refusals of its policy included."""
    entries = re.split(r"\n(?=\[)", log)
    return [found[1] for entry in entries if (found := _CONSOLE.search(entry))]
