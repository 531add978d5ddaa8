"""Texts that have one word at a place: in a heading of a level, or below them all."""

LENGTHS = [1, 32, 80]  # sentences below each heading; a passage has about 30
PLACES = {"body": "plainly", "h3": "Details", "h2": "Service", "h1": "Manual"}
OTHERS = [f"other{n}" for n in range(6)]
SENTENCE = "Every morning the crew checks the pumps before the shift begins. "
Text = list[tuple[int, str]]


def parts(place: str, length: int, word: str = "turbine") -> Text:
    """Return headings by level, and paragraphs as level 0; `place` has the word."""
    words = PLACES | ({place: word} if place in PLACES else {})
    text: Text = []
    for level in (1, 2, 3):
        text += [(level, words[f"h{level}"]), (0, SENTENCE * length)]
    return [*text[:-1], (0, f"{SENTENCE * length}It runs {words['body']} today.")]


def markdown(text: Text) -> str:
    return "\n\n".join(f"{'#' * level} {words}".strip() for level, words in text)


def underlined(text: Text) -> str:
    line = {0: "", 1: "\n======", 2: "\n------", 3: ""}
    return "\n\n".join("### " * (level == 3) + words + line[level] for level, words in text)
