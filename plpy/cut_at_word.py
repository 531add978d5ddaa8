"""The beginning of a text, in whole words."""


def cut_at_word(text: str, length: int) -> str:
    """Return at most `length` characters, cut before a word that would not fit.

    A single word longer than that is cut within.
    """
    if len(text) <= length:
        return text
    head = text[: length + 1]
    end = max(head.rfind(blank) for blank in " \n\t")
    return head[:end].rstrip() if head[:end].strip() else text[:length]
