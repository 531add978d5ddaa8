"""The embedding models of one gateway's own, by name."""

import asyncio
from pathlib import Path

from pgblend.cli.gateway.e5_model import E5Model
from pgblend.cli.gateway.embedding_model import EmbeddingModel
from pgblend.cli.gateway.minilm_model import MiniLmModel
from pgblend.cli.gateway.model_folder import find_model
from pgblend.cli.gateway.onnx_folder import onnx_file
from pgblend.cli.gateway.onnx_model import OnnxModel
from pgblend.cli.gateway.sentence_model import SentenceModel
from pgblend.cli.model_names import DEFAULT_MODEL, MULTILINGUAL_MODEL


class EmbeddingModels:
    """The models that come in packages, and those in a folder once they are asked for.

    A name stands for one runtime, so a space, which has its model's name, remembers its runtime.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.known: dict[str, EmbeddingModel] = {
            DEFAULT_MODEL: MiniLmModel(DEFAULT_MODEL),
            MULTILINGUAL_MODEL: E5Model(MULTILINGUAL_MODEL),
        }

    async def get(self, name: str) -> EmbeddingModel:
        """Return the model `local/<name>`, or raise that there is none."""
        if name not in self.known:
            folder = await asyncio.to_thread(find_model, self._folder, name, list(self.known))
            kind = OnnxModel if onnx_file(folder) else SentenceModel
            self.known.setdefault(name, kind(name, folder))
        return self.known[name]

    @property
    def installed(self) -> list[EmbeddingModel]:
        """Those that can be used."""
        return [model for model in self.known.values() if model.installed]

    def states(self) -> dict[str, str]:
        """Return the state of each."""
        return {name: model.state for name, model in self.known.items()}

    def close(self) -> None:
        """End their processes."""
        for model in self.known.values():
            model.close()
