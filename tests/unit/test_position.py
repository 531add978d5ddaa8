"""The note in which a parsing process says what it is at."""

import tempfile

import pytest

from pgblend.cli.documents.batch import read_position, write_position


@pytest.mark.parametrize("label", ["a.md", "", "na\u00efve\udcff\ud800.md", "x" * 100])
def test_the_last_position_is_read(label: str) -> None:
    with tempfile.TemporaryFile() as file:
        write_position(file.fileno(), 1, "y" * 50, 60.0)
        write_position(file.fileno(), 2, label, 0.5)
        position = read_position(file.fileno())
        assert (position.place, position.label, position.seconds) == (2, label, 0.5)


def test_a_label_without_end_is_cut() -> None:
    with tempfile.TemporaryFile() as file:
        write_position(file.fileno(), 1, "\u20ac" * 1_000_000, 60.0)
        assert set(read_position(file.fileno()).label) == {"\u20ac"}
