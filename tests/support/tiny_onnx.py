"""Tiny models of onnxruntime, with weights made here: each word has a vector, and that is all."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORDS = ["[UNK]", "[CLS]", "[SEP]", "red", "wine", "the", "sea", "ship", "ask", "tell", ":"]
SIZE = 4
WEIGHTS: NDArray[np.float32] = np.random.default_rng(1).normal(size=(len(WORDS), SIZE)).astype("f4")
MEAN = {"word_embedding_dimension": SIZE, "pooling_mode_mean_tokens": True}
FIRST = {"word_embedding_dimension": SIZE, "pooling_mode_cls_token": True}


def save_embedding_model(folder: Path, file: str = "onnx/model.onnx", **files: Any) -> None:
    """Write a model that gives each token's vector; `files` are JSON by name, / being __."""
    rows = "rows = Gather(weights, input_ids)\n last_hidden_state = Identity(rows)"
    _save(folder, file, rows, f"float[b, n, {SIZE}] last_hidden_state", WEIGHTS)
    written = {"1_Pooling__config": MEAN, **files}
    for name, value in written.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value))


def save_cross_encoder(folder: Path, labels: int = 1) -> None:
    """Write a model whose logits are the sums of the tokens' first numbers."""
    rows = (
        "rows = Gather(weights, input_ids)\n axes = Constant<value_ints = [1]>()\n"
        " logits = ReduceSum<keepdims = 0>(rows, axes)"
    )
    _save(folder, "model.onnx", rows, f"float[b, {labels}] logits", WEIGHTS[:, :labels])


def tokens_of(*texts: str) -> list[int]:
    """Return the numbers of the tokens that the tokenizer makes of a text or a pair."""
    said = [["[CLS]"], *([*text.split(), "[SEP]"] for text in texts)]
    return [WORDS.index(word) for part in said for word in part]


def _save(folder: Path, file: str, body: str, output: str, weights: NDArray[np.float32]) -> None:
    import onnx
    from onnx import numpy_helper, parser
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    path = folder / file
    path.parent.mkdir(parents=True)
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]>\n'
        f"tiny (int64[b, n] input_ids, int64[b, n] attention_mask) => ({output}) {{\n {body}\n}}"
    )
    model.graph.initializer.append(
        numpy_helper.from_array(np.ascontiguousarray(weights), "weights")
    )
    onnx.save(model, str(path))
    (folder / "config.json").write_text("{}")
    tokenizer = Tokenizer(models.WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
