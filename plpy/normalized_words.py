"""A text as quotations are compared: NFKC, white space as single spaces."""

import re
import unicodedata

# In scripts without word spaces a line break means nothing: Thai, kana, Han.
LETTER = r"[\u0e00-\u0eff\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff]"
UNSPACED = re.compile(rf"(?:(?<={LETTER})|(?<={LETTER}[,.;:!?])) (?={LETTER})")


def normalized_words(text: str) -> str:
    """Return the text in Unicode's form NFKC with every run of white space as one space.

    A space between two characters of Chinese, Japanese or Thai goes. Letter case stays.
    """
    return UNSPACED.sub("", " ".join(unicodedata.normalize("NFKC", text).split()))
