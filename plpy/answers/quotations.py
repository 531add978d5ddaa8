"""Quotations found in passages, and the sentences of an answer with what each quotes."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from pgblend.plpy.answers.written_forms import (
    IN_WORD,
    JOINT,
    MINUS,
    has_addresses,
    normalized_words,
    read_forms,
    without_code,
    written_form,
)

# What stands for words left out, also in brackets.
ELLIPSIS = re.compile(r"[\[(]?(?:…|\.{3,}|(?:\. ){2}\.)[\])]?")
# So many words stand at the quotation's ends, and of a lone word between two of them so few away.
LEAST_AROUND = 2
MOST_LEFT_OUT = 12
# What is left out neither begins nor ends with one of these, or the rest would say the contrary.
NEGATIONS = (
    "no|not|never|nor|neither|without|cannot|hardly|nicht|kein|keine|keinen|keinem|keiner|nie"
    "|niemals|ohne|ne|pas|jamais|sans|nunca|sin|non|mai|senza|não|nem|sem|niet|geen|не|без"
)
NOT_BEFORE = rf"(?! (?:(?:in|under|by|at|on) )?(?:{NEGATIONS})(?= ))"
NOT_BEHIND = "".join(rf"(?<! {word} )" for word in NEGATIONS.split("|"))
# Right before or after a quotation these would tear a word or a figure.
TORN = rf"(?:{IN_WORD}|[{MINUS}.,:'])"
# Without these a compound says the contrary.
PREFIXES = "".join(rf"(?<!{word}{JOINT})" for word in ("non", "un", "no", "not", "anti"))
SUFFIXES = rf"(?!{JOINT}(?:free|less|frei|los)(?!{IN_WORD}))"
# From here on scripts write words without spaces.
FIRST_UNSPACED = "\u0e00"
SPACED_WORD = rf"(?:(?![{FIRST_UNSPACED}-\U0010ffff]){IN_WORD}|[{MINUS}.,:'])"


def find_quotation(quotation: str, text: str) -> tuple[int, int] | None:
    """Return the first and last line (from 0) of the text that have the quotation; None: nowhere.

    Both are compared as written_form writes them, in the same one of read_forms. The quotation must
    be of whole words and figures. What is around an ellipsis must stand there in this order. It is
    at least two words at the quotation's ends. Between two ellipses it may be one word, if at most
    12 words are left out. These neither begin nor end with a negation. Addresses in it must stand
    in the text whole.
    """
    if not has_addresses(quotation, [text]):
        return None
    for form, sought in enumerate(_sought(quotation)):
        if sought and sought.search(_forms(text)[form]):
            return _lines_of(sought, text.split("\n"), form)
    return None


def _lines_of(sought: re.Pattern[str], lines: Sequence[str], form: int) -> tuple[int, int]:
    """Return the first and last of the lines that have what is sought, which is in them."""

    def has_it(begin: int, end: int) -> bool:
        told = list(read_forms("\n".join(lines[begin:end])))[form]
        return sought.search(written_form(told)) is not None

    every = range(len(lines) - 1)
    last = bisect_left(every, True, key=lambda line: has_it(0, line + 1))
    first = bisect_left(every, True, key=lambda line: not has_it(line + 1, last + 1))
    return min(first, last), last


@lru_cache(maxsize=64)  # an answer has many quotations of the same passages
def _forms(text: str) -> tuple[str, ...]:
    return tuple(written_form(form) for form in read_forms(text))


@lru_cache(maxsize=64)
def _sought(quotation: str) -> tuple[re.Pattern[str] | None, ...]:
    """Return what finds a quotation in each of a text's forms; None where it has no words."""
    return tuple(_pattern(form) for form in read_forms(quotation, is_quotation=True))


def _pattern(quotation: str) -> re.Pattern[str] | None:
    whole = written_form(quotation)
    if not whole:
        return None
    found = _words(whole)
    pieces = [piece for piece in map(written_form, ELLIPSIS.split(quotation)) if piece]
    lone = [len(WORD.findall(piece)) < LEAST_AROUND for piece in pieces]
    if len(pieces) > 1 and not (lone[0] or lone[-1] or (True, True) in pairwise(lone)):
        found += f"|{_words(pieces[0])}"
        for (before, is_lone), piece in zip(pairwise(lone), pieces[1:], strict=True):
            left_out = rf" (?:\S+ ){{0,{MOST_LEFT_OUT}}}?" if before or is_lone else ".*?"
            found += f"{NOT_BEFORE}{left_out}{NOT_BEHIND}{_words(piece)}"
    return re.compile(found)


def _words(piece: str) -> str:
    """Return a pattern of whole words, in which joints and hyphens may be written or not."""
    pattern = []
    for character, after in zip(piece, piece[1:] + " ", strict=True):
        if character in (" ", JOINT):
            pattern.append(rf"[ {JOINT}]" + ("?" if character == JOINT else ""))
            continue
        pattern.append(re.escape(character))
        if after not in (" ", JOINT) and not (character.isdigit() and after.isdigit()):
            pattern.append(f"{JOINT}?")
    before = TORN if piece[0].isascii() else SPACED_WORD
    behind = TORN if piece[-1] < FIRST_UNSPACED else rf"(?:(?=[\x00-\x7f]){TORN})"
    return rf"(?<!{before}){PREFIXES}{''.join(pattern)}(?!{behind}){SUFFIXES}"


SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+|(?<=[。\uff01\uff1f])|\n\s*\n")
# Words, and single characters of scripts without word spaces.
LETTER_ALONE = r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
WORD = re.compile(rf"{LETTER_ALONE}|(?:(?!{LETTER_ALONE})\w)+")
LONGEST_QUOTATION = 300


def best_quotation(query: str, text: str) -> tuple[str, int, int] | None:
    """Return a sentence of the text, its first and last line (from 0); None for a blank text.

    It is the first of those with the most different words of the query. Of a word five letters
    count, in lower case. It has at most 300 characters and is cut between words.
    """
    asked = {word[:5] for word in WORD.findall(normalized_words(query).casefold())}
    best: tuple[int, int, int] | None = None
    start = 0
    for end, after in [
        *(match.span() for match in SENTENCE_BREAK.finditer(text)),
        (len(text),) * 2,
    ]:
        words = {word[:5] for word in WORD.findall(normalized_words(text[start:end]).casefold())}
        if words and (best is None or len(words & asked) > best[0]):
            best = len(words & asked), start, end
        start = after
    if best is None:
        return None
    _, start, end = best
    start += len(text[start:end]) - len(text[start:end].lstrip())
    if end - start > LONGEST_QUOTATION:
        cut = text.rfind(" ", start + 1, start + LONGEST_QUOTATION)
        end = cut if cut > start else start + LONGEST_QUOTATION
    quotation = text[start:end].rstrip()
    line = text.count("\n", 0, start)
    return quotation, line, line + quotation.count("\n")


# The sentences of an answer, with what each cites and quotes.

# [1], [1, 2], [1: "words"; 2: "other words"]. A quotation may have any marks, and brackets and
# marks in it. It ends where a mark stands before the citation's end, or before what follows in it.
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
PUT_ASIDE = "[\U000f0000-\U000ffffd]"
# A citation behind the full stop belongs before it.
BEHIND_STOP = re.compile(rf"([.!?…。\uff01\uff1f]+)((?:[ \t]*{PUT_ASIDE})+)")
# A browser takes evil。example for a host.
OF_WIDE_HOST = r"(?<=[a-z0-9]。)[a-z]{2,}(?!\w)"
BOUNDARY = re.compile(
    rf"(?<=[.!?…])[ \t]+(?=[^\sa-zà-ÿ])|(?<=[。\uff01\uff1f])(?!{OF_WIDE_HOST})"
    rf"|(?<={PUT_ASIDE})[ \t]+(?=[A-ZÀ-Þ])"
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
    right behind. What looks like one but is not, such as one that was cut off, stays text. In a
    question of so many parts, a line may begin with a number (#1:). `question` is that of the line
    or of one above it. It is None without one.
    """
    cited: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        cited.append(match.group())
        return chr(FIRST_MARK + len(cited) - 1)

    text = CITATION.sub(put_aside, re.sub(PUT_ASIDE, "", answer))
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
        if len(begun.split()) >= LEAST_WORDS or re.search(PUT_ASIDE, begun):
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
    for mark in re.findall(PUT_ASIDE, text):
        for number, quoted, bare in CITED.findall(cited[ord(mark) - FIRST_MARK][1:-1] + "]"):
            citations[int(number)] = None
            words = [each[1:-1] for each in QUOTATION.findall(f"{quoted}]")] if quoted else [bare]
            quotations += [(int(number), each.strip()) for each in words if each]
    text = " ".join(re.sub(rf"\s*{PUT_ASIDE}", "", text).split())
    said = SAID.finditer(without_code(text))
    quotations += [(None, next(filter(None, match.groups()))) for match in said]
    return {"text": text, "citations": list(citations), "quotations": quotations}
