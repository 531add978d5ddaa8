"""What embedding some tokens costs, by litellm's price table."""

import importlib.util
import json
from pathlib import Path

_TABLE = "model_prices_and_context_window_backup.json"


def embedding_cost(model: str, tokens: int) -> float | None:
    """Return US dollars, 0 for a local model; None where the price is not known.

    The table is read without litellm itself, whose import takes two seconds.
    """
    if model.startswith("local/"):
        return 0.0
    litellm = importlib.util.find_spec("litellm")
    if not litellm or not litellm.origin:
        return None
    path = Path(litellm.origin).parent / _TABLE
    if not path.is_file():
        return None
    prices = json.loads(path.read_text(encoding="utf-8"))
    entry = prices.get(model) or prices.get(model.partition("/")[2]) or {}
    price = entry.get("input_cost_per_token")
    return None if price is None else float(price) * tokens
