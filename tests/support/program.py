"""PL/Python made by tests, which loads the program as deployed bodies do."""

from pgblend.sql.program import program_text, with_program


def loading(text: str) -> str:
    """Return statements whose PL/Python bodies may import from pgblend.plpy."""
    return with_program(text, program_text())
