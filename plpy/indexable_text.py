"""Text as the parser of a text search configuration gets it."""

from pgblend.plpy.spaced_bigrams import spaced_bigrams


def indexable_text(text: str) -> str:
    """Write < > / \\ - as spaces, and scripts without word spaces as pairs of syllables.

    So words within < > are no tags, the parts of paths and compounds are words, and 1042 in
    ERR-1042 is no negative number. The SQL function of that name says the same for queries, where
    it is inlined; a test compares both.
    """
    for character in "<>/\\-":
        text = text.replace(character, " ")
    return text if text.isascii() else spaced_bigrams(text)
