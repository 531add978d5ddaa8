"""The messages that ask a chat model to answer from passages."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.answer_rules import answer_rules
from pgblend.plpy.passage_label import passage_label


def answer_messages(query: str, parts: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the messages of a chat call: rules, then the passages and the question.

    `parts` have citation, text and what passage_label reads. Each stands between lines with a mark
    that is made of all of them, so no text can end its own passage or begin another.
    """
    told = "\0".join([query, *(str(part["text"]) for part in parts)])
    mark = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    passages = "\n\n".join(
        f"--- passage {part['citation']} of {mark}: {passage_label(part)}\n{part['text']}\n"
        f"--- end of passage {part['citation']} of {mark}"
        for part in parts
    )
    return [
        {"role": "system", "content": answer_rules()},
        {"role": "user", "content": f"Passages:\n\n{passages}\n\nQuestion: {query}"},
    ]
