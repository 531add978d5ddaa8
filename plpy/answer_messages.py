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
    texts = "\0".join([query, *(str(part["text"]) for part in parts)])
    mark = hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    passages = []
    for part in parts:
        name = f"passage {part['citation']} of {mark}"
        begin = f"--- {name}: {passage_label(part)}"
        passages.append(f"{begin}\n{part['text']}\n--- end of {name}")
    told = "\n\n".join(passages)
    return [
        {"role": "system", "content": answer_rules()[0]},
        {"role": "user", "content": f"Passages:\n\n{told}\n\nQuestion: {query}"},
    ]
