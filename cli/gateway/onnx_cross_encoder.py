"""Cross-encoders in a folder by onnxruntime."""

from typing import TYPE_CHECKING

from pgblend.cli.gateway.cross_encoder import CrossEncoder
from pgblend.cli.gateway.onnx_folder import unfit
from pgblend.cli.gateway.rerank_scores import sigmoid

if TYPE_CHECKING:
    from pgblend.cli.gateway.onnx_library import OnnxFolder

_OUTPUT = "logits"


class OnnxCrossEncoder(CrossEncoder):
    """One whose folder has an ONNX file, which gives a logit for each pair."""

    extra = "local"

    def _read(self) -> "OnnxFolder":
        from pgblend.cli.gateway.onnx_library import open_onnx_folder

        opened = open_onnx_folder(self._folder)
        if _OUTPUT not in opened.gives:
            given = ", ".join(opened.gives)
            raise unfit(self._folder, f"it gives {given}: that is no reranker")
        logits, _ = opened.run(_OUTPUT, "warm-up", "warm-up")  # the first call allocates
        if logits.size != 1:
            raise unfit(self._folder, f"{logits.size} labels where a reranker has 1")
        return opened

    def _score(self, pairs: list[tuple[str, str]]) -> list[float]:
        return [sigmoid(self._model.run(_OUTPUT, *pair)[0].item()) for pair in pairs]
