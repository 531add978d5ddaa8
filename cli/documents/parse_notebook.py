"""Jupyter notebooks of every version: cells as Markdown, code in fences, results as text."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pgblend.cli.documents.decode import decode
from pgblend.cli.documents.document import Document, LeftOut, ParseError, storable_text
from pgblend.cli.documents.json_records import load_json
from pgblend.cli.documents.parse_html import parse_html
from pgblend.cli.documents.parse_markdown import parse_markdown

# Logs of a training fill megabytes: what a reader looks at is at their beginning.
_LONGEST_RESULT = 4000
_PICTURES = frozenset(("png", "jpeg", "gif", "svg+xml", "svg"))
_SAVE_IT = "save it as a file beside the notebook"
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_FENCE = re.compile(r"^`{3,}", re.MULTILINE)


def parse_notebook(data: bytes) -> Document:
    """Read a notebook; those before version 4 have worksheets, and headings as cells."""
    notebook = load_json(decode(data))
    cells = _cells(notebook) if isinstance(notebook, dict) else None
    if cells is None:
        raise ParseError("no notebook: it has no cells")
    parts: list[str] = []
    left_out: list[LeftOut] = []
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, dict):
            parts += _parts(cell, f"cell {number}", left_out)
    document = parse_markdown("\n\n".join(parts))
    about = notebook.get("metadata")
    title, authors = _about(about) if isinstance(about, dict) else ("", [])
    return replace(
        document,
        title=document.title or title,
        metadata=({"author": authors} if authors else {}) | document.metadata,
        left_out=(*document.left_out, *left_out),
    )


def _about(about: dict[str, Any]) -> tuple[str, list[str]]:
    """Return a notebook's title, which version 3 calls its name, and the names of its authors."""
    named = about.get("title") or about.get("name")
    listed = about.get("authors")
    names = [
        storable_text(each["name"])
        for each in (listed if isinstance(listed, list) else [])
        if isinstance(each, dict) and isinstance(each.get("name"), str)
    ]
    return storable_text(named) if isinstance(named, str) else "", names


def _cells(notebook: dict[str, Any]) -> list[Any] | None:
    if isinstance(notebook.get("cells"), list):
        return list(notebook["cells"])
    sheets = notebook.get("worksheets")
    if not isinstance(sheets, list):
        return None
    return [
        cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells") or []
    ]


def _parts(cell: dict[str, Any], name: str, left_out: list[LeftOut]) -> Iterator[str]:
    kind = cell.get("cell_type")
    source = _joined(cell.get("source") or cell.get("input"))
    if attached := cell.get("attachments"):
        left_out.append(
            LeftOut(name, f"pictures within it: {', '.join(map(str, attached))}", _SAVE_IT)
        )
    if kind == "heading":
        level = cell.get("level")
        yield f"{'#' * (level if isinstance(level, int) and 0 < level < 7 else 1)} {source.strip()}"
    elif kind == "code":
        if source.strip():
            yield _fenced(source)
        for output in cell.get("outputs") or []:
            if isinstance(output, dict) and (text := _result(output, name, left_out)):
                yield text
    elif source.strip():
        yield source


def _result(output: dict[str, Any], name: str, left_out: list[LeftOut]) -> str:
    """Return a result as text: a table of HTML as its rows, the rest in a fence."""
    kind = output.get("output_type")
    if kind == "stream":
        return _cut(_joined(output.get("text")), name, left_out)
    if kind in ("error", "pyerr"):
        return _cut(f"{output.get('ename', '')}: {output.get('evalue', '')}", name, left_out)
    # Version 4 has kinds of data, those before have a key for each.
    data = output.get("data") if isinstance(output.get("data"), dict) else output
    assert isinstance(data, dict)
    found = {key.rpartition("/")[2]: value for key, value in data.items()}
    if "markdown" in found:
        return _joined(found["markdown"])
    text = _joined(found.get("plain") or found.get("text") or found.get("latex"))
    if not text and "json" in found:
        text = json.dumps(found["json"], ensure_ascii=False, indent=1)
    if "html" in found:
        text = parse_html(_joined(found["html"]))[0].strip() or text
    is_picture = bool(_PICTURES & found.keys())
    if is_picture or (data is not output and data and not text):
        kinds = "" if is_picture else f" of {' and '.join(map(storable_text, data))}"
        reason = f"a {'picture' if is_picture else 'result'}{kinds} among the results"
        left_out.append(LeftOut(name, reason, _SAVE_IT))
    return _cut(text, name, left_out)


def _cut(text: str, name: str, left_out: list[LeftOut]) -> str:
    text = _COLOURS.sub("", text).strip("\n")
    if len(text) > _LONGEST_RESULT:
        reason = f"its results beyond {_LONGEST_RESULT:,} characters"
        left_out.append(LeftOut(name, reason, "save them as a file beside the notebook"))
        text = text[:_LONGEST_RESULT]
    return _fenced(text) if text.strip() else ""


def _fenced(text: str) -> str:
    """Put a text between marks that it does not have itself."""
    fence = "`" * max(3, 1 + max((len(mark) for mark in _FENCE.findall(text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _joined(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")
