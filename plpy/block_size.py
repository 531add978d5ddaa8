"""How many postings a block has."""


def block_size(code_bytes: int) -> int:
    """Return how many postings, of 2 bytes and a code's 1 or 2 each, fill a page of 8 kB."""
    return {1: 2688, 2: 2016}[code_bytes]
