"""The sentences of an answer, with what each cites and quotes."""

import re
from collections.abc import Iterator
from typing import Any

from pgblend.plpy.context.quotations import without_code

# [1], [1, 2], [1: "words"; 2: "other words"]. A quotation may have any marks, and brackets and
# marks in it: it ends where a mark stands before the citation's end or before what follows in it.
OPENS = "[\"“”„‟«»\u2039\u203a「『'\u2018\u201a`]"
CLOSES = "[\"“”‟«»\u2039\u203a」』'\u2019\u2018`]"
NUMBER = r"\d{1,4}"
QUOTED = (
    rf"{OPENS}(?:(?!\[\s*{NUMBER}\s*:\s*{OPENS}).)*?{CLOSES}"
    rf"(?=\s*(?:\](?!\()|[,;]\s*(?:{OPENS}|{NUMBER}\s*[:,;\]])))"
)
# Words without marks are a quotation too; [1:30] is a time.
BARE = r"[^\W\d_][^\[\]\"“”„«»]*"
QUOTATIONS = rf"{QUOTED}(?:\s*[,;]\s*{QUOTED})*"
ONE = rf"{NUMBER}(?:\s*:\s*(?:{QUOTATIONS}|{BARE}))?"
CITATION = re.compile(rf"\[\s*{ONE}(?:\s*[,;]\s*{ONE})*\s*\]", re.DOTALL)
CITED = re.compile(rf"({NUMBER})(?:\s*:\s*(?:({QUOTATIONS})|({BARE})))?", re.DOTALL)
QUOTATION = re.compile(QUOTED, re.DOTALL)
# Quotation marks in a sentence; single ones are apostrophes unless they hold several words.
SAID = re.compile(
    r"\"([^\"]+)\"|“([^“”\"]+)[”\"]|„([^“”„\"]+)[“”\"]|«([^«»]+)»|»([^«»]+)«|「([^「」]+)」|『([^『』]+)』"
    r"|(?<![\w'\u2018\u2019])['\u2018](?=[^'\u2018\u2019\"]*\s)((?:[^'\u2018\u2019\"]|(?<=\w)['\u2019](?=\w))+)['\u2019](?!\w)"
)
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
# Lines between two of these are code.
FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[^`]*")
LABEL = re.compile(r"[\s*_-]*#([1-9])[\s*_]*[:.)]?[\s*_]*")
ABSTAINED_ANSWER = "no answer"


def answer_sentences(answer: str, questions: int = 0) -> list[dict[str, Any]]:
    """Return the sentences of an answer: text (without citations), citations, quotations, line.

    `citations` are the passage numbers, each once; `quotations` are (passage number, words), and
    (None, words) for quotation marks in the sentence itself; `line` counts the answer's lines, and
    `is_code` tells one between fences. A citation belongs to the sentence that it stands in or
    right behind. What looks like one but is not, such as one that was cut off, stays text. Of a
    question of so many parts, `question` is the number that the line, or one above it, begins with
    (#1:), None without one.
    """
    cited: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        cited.append(match.group())
        return chr(FIRST_MARK + len(cited) - 1)

    text = CITATION.sub(put_aside, re.sub(MARKS, "", answer))
    text = BEHIND_STOP.sub(r"\2\1", text)
    sentences = []
    question = None
    is_code = False
    for number, line in enumerate(text.split("\n")):
        if FENCE.fullmatch(line):
            is_code = not is_code
            continue
        label = LABEL.match(line)
        if label and int(label[1]) <= questions:
            question, line = int(label[1]), line[label.end() :]
            if is_abstention(line):
                continue
        of_line = {"line": number, "question": question, "is_code": is_code}
        pieces = [line.strip()] if is_code else _pieces(line)
        sentences += [_sentence(piece, cited) | of_line for piece in pieces if piece]
    return sentences


def _pieces(line: str) -> Iterator[str]:
    """Cut a line between its sentences."""
    begun = ""
    for piece in BOUNDARY.split(line.strip()):
        begun = f"{begun} {piece}".strip()
        if len(begun.split()) >= LEAST_WORDS or re.search(MARKS, begun):
            yield begun
            begun = ""
    yield begun


def is_abstention(answer: str) -> bool:
    """Tell whether the model says that it found no answer."""
    return " ".join(answer.split()).strip(" .\"'*").casefold() == ABSTAINED_ANSWER


def _sentence(text: str, cited: list[str]) -> dict[str, Any]:
    """Take the citations out of a sentence."""
    citations: dict[int, None] = {}
    quotations: list[tuple[int | None, str]] = []
    for mark in re.findall(MARKS, text):
        for number, quoted, bare in CITED.findall(cited[ord(mark) - FIRST_MARK][1:-1] + "]"):
            citations[int(number)] = None
            words = [each[1:-1] for each in QUOTATION.findall(f"{quoted}]")] if quoted else [bare]
            quotations += [(int(number), each.strip()) for each in words if each]
    text = " ".join(re.sub(rf"\s*{MARKS}", "", text).split())
    said = SAID.finditer(without_code(text))
    quotations += [(None, next(filter(None, match.groups()))) for match in said]
    return {"text": text, "citations": list(citations), "quotations": quotations}
