"""What models cost by litellm's price table."""

import importlib.util
import json
from pathlib import Path

_TABLE = "model_prices_and_context_window_backup.json"


def embedding_cost(model: str, tokens: int) -> float | None:
    """Return US dollars, 0 for a local model; None where the price is not known."""
    if model.startswith("local/"):
        return 0.0
    return _price(model, {"input_cost_per_token": tokens})


def chat_cost(model: str, asked: int, answered: int) -> float | None:
    """Return US dollars for tokens that a chat model is asked with and answers."""
    return _price(model, {"input_cost_per_token": asked, "output_cost_per_token": answered})


def _price(model: str, tokens: dict[str, int]) -> float | None:
    """Add up by the table, which is read without litellm: its import takes two seconds."""
    litellm = importlib.util.find_spec("litellm")
    if not litellm or not litellm.origin:
        return None
    path = Path(litellm.origin).parent / _TABLE
    if not path.is_file():
        return None
    prices = json.loads(path.read_text(encoding="utf-8"))
    entry = prices.get(model) or prices.get(model.partition("/")[2]) or {}
    if not tokens.keys() <= entry.keys():
        return None
    return sum(float(entry[name]) * count for name, count in tokens.items())
