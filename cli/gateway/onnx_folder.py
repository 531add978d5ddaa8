"""What a folder with a model in an ONNX file holds: nothing is loaded here."""

import json
from pathlib import Path
from typing import Any

from pgblend.cli.gateway.errors import GatewayError

TOKENIZER = "tokenizer.json"
# Where exporters put the file; one in 8 bits only where there is no other.
_FILES = (
    *("model.onnx", "onnx/model.onnx"),
    *("model_quantized.onnx", "onnx/model_quantized.onnx", "onnx/model_int8.onnx"),
)
_MOST_TOKENS = 512  # where no file says less, and what BERT's positions hold


def onnx_file(folder: Path) -> Path | None:
    """Return the folder's ONNX file, None where it has none or no tokenizer.json beside it."""
    if not (folder / TOKENIZER).is_file():
        return None
    return next((folder / name for name in _FILES if (folder / name).is_file()), None)


def most_tokens(folder: Path) -> int:
    """Return how many tokens the model reads, as its files say."""
    if most := read_json(folder / "sentence_bert_config.json").get("max_seq_length"):
        return int(most)
    said = (
        read_json(folder / "tokenizer_config.json").get("model_max_length"),
        read_json(folder / "config.json").get("max_position_embeddings"),
    )
    return int(min([_MOST_TOKENS, *(most for most in said if most)]))


def read_json(path: Path) -> Any:
    """Return what a file of settings holds, an empty object where there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def unfit(folder: Path, reason: str) -> GatewayError:
    """Return the error for a folder whose model cannot serve."""
    message = f"the model in {folder} cannot be used: {reason}"
    return GatewayError(503, "local_model_failed", message, param="model")
