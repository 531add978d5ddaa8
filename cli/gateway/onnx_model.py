"""Embedding models in a folder by onnxruntime: sentence-transformers' files with an ONNX file."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgblend.cli.gateway.embedding_model import EmbeddingModel
from pgblend.cli.gateway.local_weights import thread_count
from pgblend.cli.gateway.onnx_folder import read_json, unfit

if TYPE_CHECKING:
    from pgblend.cli.gateway.onnx_library import OnnxFolder

_OF_TEXT = "sentence_embedding"
_OF_TOKENS = ("last_hidden_state", "token_embeddings")
_MODULES = {"Transformer", "Pooling", "Normalize"}


class _Loaded(NamedTuple):
    folder: "OnnxFolder"
    output: str
    first_token: bool  # its vector is the text's; else the mean of all
    prompts: dict[bool, str]  # before a question (False) and before a passage (True)


class OnnxModel(EmbeddingModel):
    """A model in a folder; vectors have length 1, whatever its files say."""

    extra = "local"
    batch_size = 1  # one text needs no padding

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name, thread_count())
        self._folder = folder

    def _read(self) -> _Loaded:
        from pgblend.cli.gateway.onnx_library import open_onnx_folder

        opened = open_onnx_folder(self._folder)
        output = next((o for o in (_OF_TEXT, *_OF_TOKENS) if o in opened.gives), None)
        if output is None:
            given = ", ".join(opened.gives)
            raise unfit(self._folder, f"it gives {given}: that is no embedding model")
        first_token = output != _OF_TEXT and _is_first_token(self._folder)
        loaded = _Loaded(opened, output, first_token, _prompts(self._folder))
        vector, _ = _vector(loaded, "warm-up")  # the first call allocates
        self.dimensions = vector.size
        return loaded

    def _encode(self, texts: list[str], is_passage: bool) -> tuple[list[bytes], int]:
        prompt = self._model.prompts[is_passage]
        encoded = [_vector(self._model, prompt + text) for text in texts]
        return [vector.tobytes() for vector, _ in encoded], sum(tokens for _, tokens in encoded)


def _vector(loaded: _Loaded, text: str) -> tuple[NDArray[Any], int]:
    """Return a text's vector of length 1, and how many tokens there are."""
    found, tokens = loaded.folder.run(loaded.output, text)
    vector = found[0]
    if loaded.output != _OF_TEXT:
        vector = vector[0] if loaded.first_token else vector.mean(axis=0)
    return (vector / np.linalg.norm(vector)).astype("<f4"), tokens


def _is_first_token(folder: Path) -> bool:
    """Return whether the first token's vector is the text's, False for the mean of all."""
    modules = {module["type"].rpartition(".")[2] for module in read_json(folder / "modules.json")}
    if unknown := modules - _MODULES:
        raise unfit(folder, f"its module {', '.join(sorted(unknown))} is not in the ONNX file")
    pooling = read_json(folder / "1_Pooling" / "config.json")
    modes = {
        name.removeprefix("pooling_mode_") for name, chosen in pooling.items() if chosen is True
    }
    modes -= {"include_prompt"}
    if modes not in ({"mean_tokens"}, {"cls_token"}):
        said = ", ".join(sorted(modes)) or "nothing"
        raise unfit(
            folder,
            f"1_Pooling/config.json says {said} where it must say how tokens become one vector: "
            "pooling_mode_mean_tokens or pooling_mode_cls_token",
        )
    return modes == {"cls_token"}


def _prompts(folder: Path) -> dict[bool, str]:
    """Return what the model wants before a question and before a passage, as its files say."""
    prompts = read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    passage = prompts.get("passage") or prompts.get("document") or ""
    return {False: prompts.get("query") or "", True: passage}
