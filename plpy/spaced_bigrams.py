"""Text whose words do not stand between spaces, made ready for a parser that needs that."""

import re

# A syllable: a base with its marks, vowels that are written before it and conjuncts.
THAI = (
    "[\u0e40-\u0e44]?[\u0e01-\u0e2f\u0e46]"
    + "[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]*[\u0e30\u0e32\u0e33\u0e45]?"
)
LAO = (
    "[\u0ec0-\u0ec4]?[\u0e81-\u0eaf\u0ec6\u0edc-\u0edf]"
    + "[\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd]*[\u0eb0\u0eb2\u0eb3\u0ebd]?"
)
MYANMAR = (
    "[\u1000-\u102a\u103f\u1050-\u1055]"
    + "(?:\u1039[\u1000-\u1021]|[\u102b-\u1038\u103a-\u103e\u1056-\u1059])*"
)
KHMER = "[\u1780-\u17b3\u17d7\u17dc](?:\u17d2[\u1780-\u17b3]|[\u17b4-\u17d1\u17d3\u17dd])*"
CHARACTER = (
    "[\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u109d\u1780-\u17d3"
    + "\u17d7\u17dc\u17dd\u3005-\u3007\u3021-\u3029\u3041-\u3096\u3099\u309a\u309d-\u309f"
    + "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    + "\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)

RUN = re.compile(f"{CHARACTER}+")
SYLLABLE = re.compile(f"{THAI}|{LAO}|{MYANMAR}|{KHMER}|{CHARACTER}")


def spaced_bigrams(text: str) -> str:
    """Write runs of scripts without word spaces as overlapping pairs: three characters as two.

    A pair is of syllables (Thai, Lao, Khmer, Myanmar: a base with its marks) or of characters
    (Chinese, Japanese; Korean, which writes particles onto its words). A run of one syllable stays
    itself. Runs are enclosed in U+001E, and between two pairs stands U+001F, once for each
    character that they share: blanks to a parser, from which join_bigrams can undo it.
    """

    def pairs(match: re.Match[str]) -> str:
        parts = SYLLABLE.findall(match[0])
        spaced = parts[0]
        for place, part in enumerate(parts[1:], start=2):
            shared = part if place < len(parts) else ""
            spaced += part + "\x1f" * len(shared) + shared
        return f"\x1e{spaced}\x1e"

    return RUN.sub(pairs, text)
