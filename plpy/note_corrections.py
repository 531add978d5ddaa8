"""What the fuzzy arm put right, beside its rows."""

import json
from typing import Any


def note_corrections(fuzzy: dict[str, Any], method: str) -> bool:
    """Put method and corrections of each row into the list's `notes`; return whether any are there.

    `corrections` of the list is a JSON text for each row, None for the method word_similarity.
    """
    told = fuzzy["corrections"]
    notes = {
        text: {"method": method, **({"corrections": json.loads(text)} if text else {})}
        for text in set(told)
    }
    fuzzy["notes"] = {rank: notes[text] for rank, text in enumerate(told, 1)}
    return any(told)
