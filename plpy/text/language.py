"""The language of a text in a script that tells it."""

import re

# The letters of each, by ISO 639-1 code; Japanese has Chinese characters beside its own.
LETTERS = {
    "ja": "\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "km": "\u1780-\u17d3\u17d7\u17dc\u17dd",
    "ko": "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3",
    "lo": "\u0e81-\u0ecd\u0edc-\u0edf",
    "my": "\u1000-\u103f\u1050-\u109d",
    "th": "\u0e01-\u0e3a\u0e40-\u0e4e",
    "zh": "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
}
LANGUAGES = {code: re.compile(f"[{letters}]") for code, letters in LETTERS.items()}
OTHER_WORD = re.compile(f"[^\\W\\d_{''.join(LETTERS.values())}]+")
SAMPLE = 2400
# Two letters of such a script say about as much as a word of another one.
LETTERS_A_WORD = 2
# Chinese quotes fewer kana, Japanese is seldom written with fewer.
KANA = 0.05


def script_language(text: str) -> str | None:
    """Return the language that the script of a text tells, None where it tells none.

    ISO 639-1: zh, ja, ko, th, lo, km or my, where the first 2,400 characters have at least two of
    its letters for each word in other scripts.
    """
    sample = text[:SAMPLE]
    if sample.isascii():
        return None
    counts = {code: len(letter.findall(sample)) for code, letter in LANGUAGES.items()}
    east_asian = counts["ja"] + counts["zh"]
    japanese = counts["ja"] > KANA * east_asian
    counts |= {"ja": east_asian * japanese, "zh": east_asian * (not japanese)}
    language = max(counts, key=lambda code: counts[code])
    words = len(OTHER_WORD.findall(sample))
    return language if counts[language] >= max(1, LETTERS_A_WORD * words) else None
