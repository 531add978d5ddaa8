"""Cut a model's answer into sentences with their citations."""

import re
from typing import Any

# [1], [1, 2], [1: "words"; 2: "other words"]: straight or typographic quotation marks.
QUOTED = r'(?:"[^\[\]]*?"|“[^”]*”|„[^“”]*[“”]|«[^»]*»)'
ONE = rf"\d{{1,4}}(?:\s*:\s*{QUOTED}(?:\s*,\s*{QUOTED})*)?"
CITATION = re.compile(rf"\[\s*{ONE}(?:\s*[,;]\s*{ONE})*\s*\]")
NUMBER = re.compile(rf"(\d{{1,4}})(?:\s*:\s*({QUOTED}(?:\s*,\s*{QUOTED})*))?")
QUOTATION = re.compile(QUOTED)
# Citations are put aside as one character each, which no text has.
FIRST_MARK = 0xF0000
MARKS = "[\U000f0000-\U000ffffd]"
# A citation behind the full stop belongs before it.
BEHIND_STOP = re.compile(rf"([.!?…。\uff01\uff1f]+)((?:[ \t]*{MARKS})+)")
BOUNDARY = re.compile(
    rf"(?<=[.!?…])[ \t]+(?=[^\sa-zà-ÿ])|(?<=[。\uff01\uff1f])|(?<={MARKS})[ \t]+(?=[A-ZÀ-Þ])"
)
# Shorter pieces without a citation are list marks, abbreviations, initials of what follows.
LEAST_WORDS = 3


def answer_sentences(answer: str) -> list[dict[str, Any]]:
    """Return the sentences of an answer: text (without citations), citations, quotations, line.

    `citations` are the passage numbers, each once; `quotations` are (passage number, words), and
    (None, words) for quotation marks in the sentence itself; `line` counts the answer's lines. A
    citation belongs to the sentence that it stands in or right behind. What looks like one but is
    not, such as one that was cut off, stays text.
    """
    cited: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        cited.append(match.group())
        return chr(FIRST_MARK + len(cited) - 1)

    text = CITATION.sub(put_aside, re.sub(MARKS, "", answer))
    text = BEHIND_STOP.sub(r"\2\1", text)
    sentences = []
    for number, line in enumerate(text.split("\n")):
        begun = ""
        for piece in BOUNDARY.split(line.strip()):
            begun = f"{begun} {piece}".strip()
            if len(begun.split()) >= LEAST_WORDS or re.search(MARKS, begun):
                sentences.append(_sentence(begun, cited, number))
                begun = ""
        if begun:
            sentences.append(_sentence(begun, cited, number))
    return sentences


def _sentence(text: str, cited: list[str], line: int) -> dict[str, Any]:
    """Take the citations out of a sentence."""
    citations: dict[int, None] = {}
    quotations: list[tuple[int | None, str]] = []
    for mark in re.findall(MARKS, text):
        for number, quoted in NUMBER.findall(cited[ord(mark) - FIRST_MARK][1:-1]):
            citations[int(number)] = None
            quotations += [(int(number), words[1:-1]) for words in QUOTATION.findall(quoted)]
    text = " ".join(re.sub(rf"\s*{MARKS}", "", text).split())
    quotations += [(None, words[1:-1]) for words in QUOTATION.findall(text)]
    return {"text": text, "citations": list(citations), "quotations": quotations, "line": line}
