"""Subtitles and transcripts: what is said, as sentences across cues; times are places."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pgblend.cli.documents.decode import decode
from pgblend.cli.documents.document import Document, LeftOut, ParseError, Place
from pgblend.cli.documents.formula import with_readings_last
from pgblend.cli.documents.office_file import local_name, parse_xml
from pgblend.cli.documents.text_builder import TextBuilder

_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{1,2}(?:[.,:]\d{1,3})?"
_SPAN = re.compile(rf"^\s*({_TIME})\s*(?:--?>|,)\s*({_TIME})(?:\s.*)?$")
_FRAMES = re.compile(r"^\{(\d+)\}\{(\d+)\}(.*)$", re.MULTILINE)
# What begins a file of WebVTT or SubViewer, and blocks that nobody says.
_BESIDE = re.compile(r"\ufeff?(WEBVTT|NOTE|STYLE|REGION)\b|\[[A-Z ]+\]")
_LYRIC = re.compile(rf"\[({_TIME})\]")
_LYRIC_ABOUT = re.compile(r"^\[(ti|ar|al|by|la):(.*)\]\s*$")
_LYRIC_KEYS = {"ti": "title", "ar": "author", "al": "album", "by": "by", "la": "language"}
_SYNC = re.compile(r"<sync\b[^>]*?start\s*=\s*[\"']?(\d+)", re.IGNORECASE)
_SPEAKER = re.compile(r"<v(?:\.[\w.-]*)?\s+([^>]+)>")
_TAGS = re.compile(r"<[^<>]*>|\{(?:\\|[a-z]:)[^{}]*\}", re.IGNORECASE)
_BREAKS = re.compile(r"\\[Nnh]|\||<br\s*/?>|\[br\]", re.IGNORECASE)
_DRAWING = re.compile(r"\{[^{}]*\\p[1-9][^{}]*\}.*?(?=\{[^{}]*\\p0[^{}]*\}|$)")
_SENTENCE_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u2019)\]]*$")
# A pause of so many seconds parts paragraphs, and a sentence's end in what is long enough.
_PAUSE = 4.0
_LONG_ENOUGH = 600
_NTSC = 24000 / 1001


@dataclass(frozen=True)
class _Cue:
    """What is said from one second to another."""

    start: float
    end: float
    text: str


def parse_subtitles(data: bytes) -> Document:
    """Read SubRip, WebVTT, SubStation Alpha, YouTube's, MicroDVD, LRC, SAMI or TTML."""
    source = decode(data)
    about: dict[str, str] = {}
    left_out: list[LeftOut] = []
    cues = sorted(_cues(source, about, left_out), key=lambda cue: cue.start)
    if not cues and source.strip():
        raise ParseError("no readable subtitles: no line has a time")
    builder = TextBuilder()
    last: _Cue | None = None
    size = 0
    for cue in cues:
        if last and cue.text == last.text:
            continue  # rolling captions say a line twice
        is_new = last is not None and _begins_paragraph(last, cue, size)
        before = builder.length
        gap = "\n\n" if is_new else " "
        start = builder.add(cue.text, gap)
        size = builder.length - start if is_new else size + builder.length - before
        builder.places.append(Place(start, times=(_clock(cue.start), _clock(cue.end))))
        last = cue
    return Document(
        title=about.pop("title", ""),
        text=builder.text(),
        metadata=about,
        places=tuple(builder.places),
        left_out=tuple(left_out),
    )


def _begins_paragraph(last: _Cue, cue: _Cue, size: int) -> bool:
    if cue.start - last.end >= _PAUSE:
        return True
    return size >= _LONG_ENOUGH and bool(_SENTENCE_END.search(last.text))


def _cues(source: str, about: dict[str, str], left_out: list[LeftOut]) -> Iterator[_Cue]:
    head = source[:2000].lstrip()
    if head.startswith("<") and "<tt" in head:
        return _timed_text(source)
    if _SYNC.search(source):
        return _sami(source)
    if re.search(r"^\[Events\]", source, re.MULTILINE | re.IGNORECASE):
        return _substation(source, about)
    if _FRAMES.match(head):
        return _frames(source)
    if _LYRIC.search(head) and "-->" not in source:
        return _lyrics(source, about)
    return _spans(source, left_out)


def _spans(source: str, left_out: list[LeftOut]) -> Iterator[_Cue]:
    """Yield cues whose time stands on a line before them: SubRip, WebVTT, SubViewer.

    An empty line ends a cue of WebVTT. In the others words may come after one, and players show
    them.
    """
    lines = source.split("\n")
    spans = [(place, match) for place, line in enumerate(lines) if (match := _SPAN.match(line))]
    is_web = source.lstrip().startswith("WEBVTT")
    ends = [place for place, _ in spans[1:]] + [len(lines)]
    apart = [range(spans[0][0] if spans else 0)]
    for (place, match), end in zip(spans, ends, strict=True):
        said = range(place + 1, end)
        if is_web:
            until = next((each for each in said if not lines[each].strip()), end)
            apart.append(range(until, end))
            said = range(place + 1, until)
        if said and said.stop == end < len(lines) and lines[said[-1]].strip().isdecimal():
            said = said[:-1]  # the next cue's number
        yield from _cue(match[1], match[2], "\n".join(lines[each] for each in said))
    untimed = [f"line {each + 1}" for some in apart for each in _untimed(lines, some)]
    left_out += [LeftOut(each, "words without a time", "give them one") for each in untimed]


def _untimed(lines: list[str], apart: range) -> Iterator[int]:
    """Yield the first line of each block that belongs to no cue, and is no name or comment."""
    before = ""
    for place in apart:
        begins = lines[place].strip() and not before.strip()
        before = lines[place]
        is_name = place + 1 == apart.stop and apart.stop < len(lines)
        if begins and not is_name and not _BESIDE.match(lines[place]):
            yield place


def _substation(source: str, about: dict[str, str]) -> Iterator[_Cue]:
    columns = ["layer", "start", "end", "style", "name", *[""] * 4, "text"]
    for line in source.split("\n"):
        kind, _, rest = line.partition(":")
        kind = kind.strip().lower()
        if kind == "title":
            about["title"] = rest.strip()
        elif kind == "format" and "text" in rest.lower():
            columns = [name.strip().lower() for name in rest.split(",")]
        elif kind == "dialogue" and "start" in columns and "end" in columns:
            values = [value.strip() for value in rest.split(",", len(columns) - 1)]
            found = dict(zip(columns, values, strict=False))
            said, speaker = found.get("text", ""), found.get("name") or found.get("actor")
            said = _DRAWING.sub("", said)
            if _plain(said):
                said = f"<v {speaker}>{said}" if speaker else said
                yield from _cue(found.get("start", ""), found.get("end", ""), said)


def _frames(source: str) -> Iterator[_Cue]:
    """Yield cues of MicroDVD; without a rate of its own a film has 23.976 frames a second."""
    rate = _NTSC
    for line in source.split("\n"):
        if match := _FRAMES.match(line):
            first, last, text = match.groups()
            if first == last == "1" and re.fullmatch(r"[\d.]+\s*", text):
                rate = float(text) or rate
            elif said := _plain(text):
                yield _Cue(int(first) / rate, int(last) / rate, said)


def _lyrics(source: str, about: dict[str, str]) -> Iterator[_Cue]:
    for line in source.split("\n"):
        if match := _LYRIC_ABOUT.match(line):
            about[_LYRIC_KEYS[match.group(1)]] = match.group(2).strip()
            continue
        said = _plain(_LYRIC.sub("", line))
        for time in _LYRIC.findall(line) if said else ():
            yield _Cue(_seconds(time), _seconds(time), said)


def _sami(source: str) -> Iterator[_Cue]:
    marks = list(_SYNC.finditer(source))
    ends = [*(mark.start() for mark in marks[1:]), len(source)]
    for place, (mark, end) in enumerate(zip(marks, ends, strict=True)):
        said = _plain(source[mark.end() : end].partition(">")[2].replace("&nbsp;", " "))
        if said:
            until = marks[min(place + 1, len(marks) - 1)].group(1)
            yield _Cue(int(mark.group(1)) / 1000, int(until) / 1000, said)


def _timed_text(source: str) -> Iterator[_Cue]:
    for element in parse_xml(source.encode()).iter("{*}p"):
        for child in element.iter("{*}br"):
            child.tail = f" {child.tail or ''}"
        begin, end = element.get("begin", ""), element.get("end", "")
        if local_name(element) and begin:
            said = _plain("".join(element.itertext()))
            if said:
                yield _Cue(_offset_time(begin), _offset_time(end or begin), said)


def _offset_time(text: str) -> float:
    match = re.fullmatch(r"([\d.]+)(h|m|s|ms)", text)
    if match:
        return float(match.group(1)) * {"h": 3600, "m": 60, "s": 1, "ms": 0.001}[match.group(2)]
    return _seconds(":".join(text.split(":")[:3]))


def _cue(start: str, end: str, text: str) -> Iterator[_Cue]:
    if said := _plain(text):
        yield _Cue(_seconds(start), _seconds(end), said)


def _plain(text: str) -> str:
    """Return what is said, on one line, without marks of styles and places."""
    text = with_readings_last(_SPEAKER.sub(r"\1: ", text))
    said = _TAGS.sub("", _BREAKS.sub(" ", text))
    return " ".join(html.unescape(said).split())


def _seconds(time: str) -> float:
    """Return a time of hours, minutes and seconds; 0 for what is none."""
    try:
        parts = [float(part) for part in time.strip().replace(",", ".").split(":")]
    except ValueError:
        return 0.0
    return float(sum(part * 60**place for place, part in enumerate(reversed(parts))))


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
