"""Headings that Markdown marks within a text, and what their words count more."""

import pytest

from pgblend.plpy.lexical.words import heading_words, markdown_headings, marked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\n\ntext\n\n## Two ##\ntext\n###### Six", "# One\n## Two\n###### Six"),
        ("# One\ntext", "# One"),
        ("\n\n  ## Two\r\n\r\ntext", "## Two"),
        ("One\n===\n\ntext\n\nTwo\n---\ntext", "# One\n## Two"),
        ("#tag ##two #!/bin/sh\n    ## code", ""),
        ("```sh\n## build\n```\n\n## Two\n\n~~~\n## code\n```\n## code\n~~~\n", "## Two"),
        ("`` ```x``` `` is code\n\n## Two", "## Two"),
        ("```a`b\n## Two", "## Two"),
        ("x = 1\n# a comment\ny = 2\n\n# another\nz = 3", ""),
        ("# Copyright\n# by all\n\nimport re", ""),
        ("first line\nsecond line\n---\ntext", ""),
        ("---\ntitle: x\n---\ntext", ""),
        ("| a | b |\n---\n- item\n---\n\n> said\n---", ""),
        ("## ", ""),
        ("", ""),
        ("# One\n\n# Two\n\n## Three", "## One\n## Two\n### Three"),
    ],
)
def test_headings_of_markdown(text: str, expected: str) -> None:
    assert marked(markdown_headings(text), 0, len(text)) == expected


def test_headings_of_a_part() -> None:
    text = "# One\n\na\n\n## Two\n\n## Three"
    found = markdown_headings(text)
    assert [text[each.offset :].splitlines()[0] for each in found] == [
        "# One",
        "## Two",
        "## Three",
    ]
    assert marked(found, 1, found[2].offset) == "## Two"


@pytest.mark.parametrize(
    ("title", "above", "own", "expected"),
    [
        ("", "", "# One\n## Two\n### Six\n#### Ten", 4 * "One " + 3 * "Two " + "Six Six Ten Ten"),
        ("One", "", "# One\n## Two", "One Two Two Two"),
        ("Two", "", "# One\n## Two", "One One One One"),
        ("", "One > Two", "## Two", "Two Two Two"),
        ("", "", "### Debian [12](https://debian.example/12)", "Debian [12] Debian [12]"),
        ("One", "Two", "", ""),
    ],
)
def test_words_count_by_level(title: str, above: str, own: str, expected: str) -> None:
    heading, words = heading_words(title, above, own.replace("#", ""), own)
    assert words.split() == expected.split()
    assert heading == ("One > " if above == "One > Two" else above)
