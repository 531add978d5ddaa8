"""Where a text may be cut so that the tokens of its pieces add up."""

import re

# A line, and the blank lines after it: cl100k never begins a token before a line end and goes on
# with it in the words of the line below.
LINE_RUN = re.compile(r"[^\n]*(?:\n(?:\s*\n)?|$)")
# Within a line: before a single space between words, or before East Asian punctuation.
WORD_CUT = re.compile(r"(?<=\S) (?=\S)|(?<=[^\W_])(?=[\u3001\u3002\uff01\uff0c\uff1b\uff1f])")
# Lines longer than this are cut at the first such place after so many characters.
PIECE_CHARACTERS = 64
# Where there is none, so that the tokens of a piece fit into a smallint.
LONGEST_PIECE = 8000


def text_pieces(text: str, own_start: int = 0) -> list[int]:
    """Return the character offsets at which the pieces of `text` begin, in order.

    Pieces are lines with the blank lines after them, long lines cut between words, and a new one
    begins at `own_start`. Cuts stand where cl100k's pattern always begins a new word, so the tokens
    of a run of pieces are the sum of theirs; only at `own_start`, and every 8,000 characters of a
    word without end, the sum may be a token or two higher. An empty text has no pieces.
    """
    starts: list[int] = []
    for begin, end in ((0, own_start), (own_start, len(text))):
        while begin < end:
            match = LINE_RUN.match(text, begin, end)
            line_end = match.end() if match else end
            while line_end - begin > PIECE_CHARACTERS:
                starts.append(begin)
                cut = WORD_CUT.search(text, begin + PIECE_CHARACTERS, line_end)
                begin = min(cut.start() if cut else line_end, begin + LONGEST_PIECE)
            if begin < line_end:
                starts.append(begin)
                begin = line_end
    return starts
