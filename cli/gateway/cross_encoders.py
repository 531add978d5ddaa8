"""The cross-encoders of one gateway's own, by name."""

import asyncio
from pathlib import Path

from pgblend.cli.gateway.cross_encoder import CrossEncoder
from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.model_folder import find_model
from pgblend.cli.gateway.onnx_cross_encoder import OnnxCrossEncoder
from pgblend.cli.gateway.onnx_folder import onnx_file
from pgblend.cli.gateway.sentence_cross_encoder import SentenceCrossEncoder


class CrossEncoders:
    """The cross-encoders in a folder of models, else in Hugging Face's cache on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, CrossEncoder] = {}

    async def scores(
        self, model: str, query: str, documents: list[str], deadline: Deadline
    ) -> list[float]:
        """Return each document's score in [0, 1] by `local/<name>`."""
        encoder = self._known.get(model)
        if encoder is None:
            folder = await asyncio.to_thread(find_model, self._folder, model)
            kind = OnnxCrossEncoder if onnx_file(folder) else SentenceCrossEncoder
            encoder = self._known.setdefault(model, kind(model, folder))
        try:
            async with asyncio.timeout(deadline.remaining):
                return await encoder.scores(query, documents)
        except TimeoutError:
            message = f"{model} did not answer in time"
            raise GatewayError(504, "provider_timeout", message) from None

    def states(self) -> dict[str, str]:
        """Return the state of each that was asked for."""
        return {name: encoder.state for name, encoder in self._known.items()}

    def close(self) -> None:
        """End their processes."""
        for encoder in self._known.values():
            encoder.close()
