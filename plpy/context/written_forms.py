"""Texts as a quotation is compared with them: one form for all ways to write the same words."""

import html
import re
import unicodedata
from collections.abc import Iterator

# Symbols that say something; other signs are left out.
SIGNS = "%‰&@/§°<>=+±\u00d7÷≤≥≠≈^$¢£¤¥฿€₣₤₦₨₩₪₫₭₮₱₲₴₵₸₹₺₽₿"
# May stand within a word, and may be left out there: apostrophes, emphasis, editors' brackets.
WITHIN = "'\u2019\u2018\u02bc\u00b4`\u2032*_~[](){}·"
KEPT = f"{SIGNS}.,:\n"
DASHES = "-\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d"
# Vowel points of Hebrew and Arabic, and what stretches an Arabic word: many leave them out.
POINTS = "\u0591-\u05bd\u05bf-\u05c7\u0640\u064b-\u0652\u0670"
LEFT_OUT = re.compile(
    f"[™℠\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff{POINTS}]"
)
SOFT_HYPHEN = re.compile(r"\u00ad(?:[ \t]*\n\s*)?")
# 1½ is no 11/2.
BEFORE_FRACTION = re.compile("(?<=[0-9])(?=[\u00bc-\u00be\u2150-\u215e])")

# In a text of this form: a word's character, and the mark of a joint within a word.
JOINT = "_"
MINUS = "\u2212"
RANGE = "~"
NO_WORD = rf" \n'.,:\-{JOINT}{MINUS}{RANGE}{re.escape(SIGNS)}"
IN_WORD = rf"[^{NO_WORD}]"
BROKEN_WORD = re.compile(rf"(?<={IN_WORD})-[ \t]*\n\s*(?={IN_WORD})")
RANGE_OF_FIGURES = re.compile(r"(?<=\d)\s*-+\s*(?=\d)")
MINUS_SIGN = re.compile(rf"(?:(?<=[\s{re.escape(SIGNS)}])|^)-(?=\d)", re.MULTILINE)
WITHIN_WORD = re.compile(rf"(?<={IN_WORD})(?:(?<!\d)['.\-]+|['.\-]+(?!\d))(?={IN_WORD})")
MARKS = re.compile(r"-|(?<!\d)[.,:']|[.,:'](?!\d)")
SIGN = re.compile(rf"([{re.escape(SIGNS)}])")
# In scripts without word spaces a line break means nothing: Thai, kana, Han.
LETTER = r"[\u0e00-\u0eff\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff]"
UNSPACED = re.compile(rf"(?<={LETTER}) (?={LETTER})")


class _Signs(dict[int, str]):
    """What each character is written as."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        is_letter = character.isalnum() or unicodedata.category(character)[0] == "M"
        if is_letter or character in KEPT:
            written = character
        elif character in DASHES:
            written = "-"
        else:
            written = "'" if character in WITHIN else " "
        self[code] = written
        return written


_SIGNS = _Signs()


def written_form(text: str) -> str:
    """Return a text's words, figures and signs, by single spaces, in folded case.

    Punctuation, quotation marks, emphasis, soft hyphens and line breaks are gone. A hyphen, an
    apostrophe or a mark within a word is a joint. Marks within figures stay, and so do signs.
    """
    text = SOFT_HYPHEN.sub("", LEFT_OUT.sub("", BEFORE_FRACTION.sub(" ", text)))
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = text.replace("i\u0307", "i").replace("\u2044", "/").replace("\r", "\n")
    text = text.translate(_SIGNS)
    text = BROKEN_WORD.sub(JOINT, text)
    text = MINUS_SIGN.sub(MINUS, RANGE_OF_FIGURES.sub(RANGE, text))
    text = MARKS.sub(" ", WITHIN_WORD.sub(JOINT, text))
    return UNSPACED.sub("", " ".join(SIGN.sub(r" \1 ", text).split()))


# What a reader of Markdown or HTML does not see.
ITEM = r"(?:[-*+•‣▪◦\u2013—]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?"
LINE_START = re.compile(rf"^[ \t]*(?:>[ \t]*)*(?:\#{{1,6}}[ \t]+|{ITEM})?", re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
TAG = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>")
TARGET = r"\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"
PICTURE = re.compile(rf"!\[([^\[\]\n]*)\](?:{TARGET}|\[[^\[\]\n]*\])")
LINK = re.compile(rf"\[([^\[\]]+)\](?:{TARGET}|\[[^\[\]\n]*\])")
WIKI_LINK = re.compile(r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]+)\]\]")
FOOTNOTE = re.compile(r"\[\^[^\[\]\s]+\]")
ESCAPED = re.compile(r"\\(?=[!-/:-@\[-`{-~])")


def read_forms(text: str, *, is_quotation: bool = False) -> Iterator[str]:
    """Yield a text as it is read: its Markdown and HTML shown, so without pictures, and as it is.

    In the first two forms words of links stay and their addresses go, and so do numbers of lists.
    A quotation keeps these: it may begin with a day or a year.
    """
    shown = text if is_quotation else LINE_START.sub("", text)
    shown = TAG.sub("", COMMENT.sub("", ESCAPED.sub("", html.unescape(shown))))
    shown = FOOTNOTE.sub("", WIKI_LINK.sub(r"\1", shown))
    yield LINK.sub(r"\1", PICTURE.sub(r"\1", shown))
    yield LINK.sub(r"\1", PICTURE.sub("", shown))
    yield text
