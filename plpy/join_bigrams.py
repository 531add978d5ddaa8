"""Undo spaced_bigrams in a marked passage."""

import re


def join_bigrams(passage: str, start: str, stop: str) -> str:
    """Return a passage of spaced_bigrams' text as it was written, marks on what they stood on.

    `start` and `stop` are the characters around each marked word; marked pairs that follow each
    other share one mark. The passage may begin and end within a run.
    """
    return "".join(join_run(part, start, stop) for part in passage.split("\x1e"))


def join_run(run: str, start: str, stop: str) -> str:
    """Join the pairs of one run; text without pairs stays as it is."""
    if "\x1f" not in run:
        return run
    text = ""
    marks: list[bool] = []
    shared = 0
    for piece in re.split("(\x1f+)", run):
        if piece.startswith("\x1f"):
            shared = len(piece)
            continue
        pair = piece.replace(start, "").replace(stop, "")
        text += pair[shared:]
        marks += [False] * (len(pair) - shared)
        if start in piece:
            marks[len(marks) - len(pair) :] = [True] * len(pair)
    marked = "".join(
        start + character + stop if mark else character
        for character, mark in zip(text, marks, strict=True)
    )
    return marked.replace(stop + start, "")
