"""The text of pictures: asked of a vision model through the run, or read by tesseract here."""

import base64
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pgblend.cli.base.child_process import FOLDER, child_environment, find_program
from pgblend.cli.documents.document import Document, ParseError, Picture, Place, storable_text

if TYPE_CHECKING:
    from pgblend.cli.embed.embedding_client import GatewayClient


VISION, OCR = "vision", "ocr"
# What vision models look at; smaller letters than that are lost to them anyway.
_VISION_SIDE = 1568
_OCR_SIDE = 4000
_OCR_SECONDS = 120
# Each is a call of a model: a scanned book is not read by mistake.
MAX_PICTURES = 200
_SHOWN_PAGES = 5
# In the metadata of a document: how many of its pictures are yet to be read.
PICTURES_UNREAD = "picturesUnread"

Ask = Callable[[dict[str, Any]], dict[str, Any]]


class PictureReader:
    """Reads pictures as `how` says: "vision:MODEL", "ocr:LANGUAGES", or "" for not at all.

    `ask` sends a question to the run and returns its answer: parsers have no connections.
    """

    def __init__(self, how: str, ask: Ask) -> None:
        self.how = how
        self._kind, _, self._detail = how.partition(":")
        self._ask = ask

    def add_texts(self, document: Document) -> Document:
        """Return the document with the texts of its pictures where they belong.

        A document that is nothing but pictures fails with the first one that cannot be read. Of
        others a warning names the pages. Pages without text are named as well. What could not be
        read is counted in the metadata, and read by a later run that can.
        """
        pages = [picture for picture in document.pictures if picture.is_page]
        if not document.pictures:
            return document
        texts: list[tuple[Picture, str]] = []
        problems: dict[str, list[Picture]] = {}
        for picture in document.pictures[: MAX_PICTURES if self.how else 0]:
            try:
                text = self._read(picture)
            except ParseError as error:
                if picture.is_page and not document.text and not texts:
                    raise
                problems.setdefault(str(error), []).append(picture)
            else:
                texts.append((picture, text))
        blank = [picture for picture, text in texts if picture.is_page and not text]
        if blank or (pages and not self.how):
            problems["pages without text (scanned?)"] = blank or pages
        if self.how and len(document.pictures) > MAX_PICTURES:
            problems["pictures beyond the limit"] = list(document.pictures[MAX_PICTURES:])
        unread = min(len(document.pictures), MAX_PICTURES) - len(texts)
        total = document.metadata.get("pages")
        read_by = {"picturesReadBy": self._detail} if any(text for _, text in texts) else {}
        return replace(
            insert_texts(document, texts),
            metadata=document.metadata | read_by | ({PICTURES_UNREAD: unread} if unread else {}),
            warnings=document.warnings
            + tuple(f"{what}: {_pages(pictures, total)}" for what, pictures in problems.items()),
        )

    def _read(self, picture: Picture) -> str:
        if self._kind == VISION:
            data = base64.b64encode(picture.load(_VISION_SIDE)).decode("ascii")
            answer = self._ask({"describe": data})
            if "problem" in answer:
                raise ParseError(str(answer["problem"]))
            text = str(answer["text"])
        else:
            text = _tesseract(picture.load(_OCR_SIDE), self._detail)
        return storable_text(text.replace("\r\n", "\n").replace("\f", "")).strip()


def insert_texts(document: Document, texts: Sequence[tuple[Picture, str]]) -> Document:
    """Put the text of each picture at its place, in their order; what comes after moves on.

    Of the places at the same offset, those of later pages come after it.
    """
    text = document.text
    headings, places, breaks = document.headings, document.places, document.breaks
    tables = document.tables
    links = document.links
    moved = 0
    for picture, found in texts:
        if not found:
            continue
        offset = picture.offset + moved
        before, after = text[:offset], text[offset:]
        piece = ("\n\n" if before else "") + found
        piece += "\n\n" if after and not after.startswith("\n") else ""
        text = before + piece + after
        size = len(piece)
        moved += size

        def is_after(place: Place, offset: int = offset, page: int = picture.page or 0) -> bool:
            return (place.offset, place.page or 0) > (offset, page)

        headings = tuple(
            replace(each, offset=each.offset + size * (each.offset >= offset)) for each in headings
        )
        places = tuple(replace(each, offset=each.offset + size * is_after(each)) for each in places)
        breaks = tuple(each + size * (each >= offset) for each in breaks)
        tables = tuple(table.moved(size, offset) for table in tables)
        links = tuple(
            replace(each, offset=each.offset + size * (each.offset >= offset)) for each in links
        )
    return replace(
        document,
        text=text,
        headings=headings,
        tables=tables,
        places=places,
        breaks=breaks,
        links=links,
        pictures=(),
    )


def _tesseract(picture: bytes, languages: str) -> str:
    """Run tesseract on a picture; it inherits this process's limits of memory and time."""
    program = find_program("tesseract")
    if program is None:
        raise ParseError("tesseract cannot be run: it is not installed")
    try:
        done = subprocess.run(
            [program, "stdin", "stdout", "-l", languages],
            cwd=FOLDER,
            input=picture,
            capture_output=True,
            timeout=_OCR_SECONDS,
            env=child_environment({"OMP_THREAD_LIMIT": "1"}),
        )
    except subprocess.TimeoutExpired:
        raise ParseError(f"tesseract did not end within {_OCR_SECONDS} s") from None
    except OSError as error:
        raise ParseError(f"tesseract cannot be run: {error.strerror}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise ParseError(f"tesseract failed: {said[-1] if said else done.returncode}")
    return done.stdout.decode("utf-8", errors="replace")


def _pages(pictures: Sequence[Picture], total: int | None) -> str:
    """Name the pages of pictures, the first few of many: "2, 5 of 10"."""
    pages = [str(picture.page) for picture in pictures if picture.page is not None]
    if not pages:
        return f"{len(pictures)}"
    more = f" and {len(pages) - _SHOWN_PAGES} more" if len(pages) > _SHOWN_PAGES else ""
    return ", ".join(pages[:_SHOWN_PAGES]) + more + (f" of {total}" if total else "")


# What the run asks for its parsing processes: the text of a picture, from a vision model.

_PROMPT = (
    "Write down all text that the picture shows, in reading order, tables row by row with cells "
    "separated by ' | '. Then, after an empty line, describe in two or three sentences what it "
    "shows beside text: what a chart says, what is to be seen. Use the language of the text in the "
    "picture, English where there is none. Write nothing else."
)
_MAX_TOKENS = 2000
# Scripts and orientation are data of tesseract's own, not languages.
_NO_LANGUAGES = ("osd", "equ")


class Vision:
    """A vision model behind the gateway, safe in several threads."""

    def __init__(self, gateway_url: str, model: str) -> None:
        self._gateway_url = gateway_url
        self._model = model

    @cached_property
    def _client(self) -> "GatewayClient":
        from pgblend.cli.embed.embedding_client import GatewayClient  # HTTP takes its time

        return GatewayClient(self._gateway_url)

    def describe(self, picture: str) -> dict[str, Any]:
        """Return {"text": …} for a JPEG in base64, {"problem": …} where the model fails."""
        from pgblend.cli.embed.embedding_client import GatewayUnavailableError

        content: list[dict[str, Any]] = [
            {"type": "text", "text": _PROMPT},
            {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{picture}"}},
        ]
        try:
            said = self._client.complete(self._model, content, _MAX_TOKENS, "pgblend:vision")
            return {"text": said}
        except GatewayUnavailableError as error:
            return {"problem": error.reason}


def how_to_read(vision_model: str | None, gateway_url: str | None) -> str:
    """Say how pictures are read: by the model, else by tesseract where it is installed, else "".

    The result is what PictureReader takes.
    """
    if vision_model and gateway_url:
        return f"{VISION}:{vision_model}"
    languages = _tesseract_languages()
    return f"{OCR}:{languages}" if languages else ""


def _tesseract_languages() -> str:
    """Return the languages that tesseract has, "" where it is not installed."""
    program = find_program("tesseract")
    if program is None:
        return ""
    listed = subprocess.run(
        [program, "--list-langs"],
        cwd=FOLDER,
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    names = [line.strip() for line in listed.stdout.splitlines()[1:]]
    return "+".join(name for name in names if name and name not in _NO_LANGUAGES)
