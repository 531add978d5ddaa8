"""Cross-encoders in a folder by sentence-transformers."""

from typing import Any

from pgblend.cli.gateway.cross_encoder import BATCH_SIZE, CrossEncoder


class SentenceCrossEncoder(CrossEncoder):
    """One by sentence-transformers; one thread of its process loads it and scores."""

    extra = "torch"

    def _read(self) -> Any:
        from pgblend.cli.gateway.torch_library import prepare_torch

        prepare_torch()
        import sentence_transformers

        encoder = sentence_transformers.CrossEncoder(str(self._folder), local_files_only=True)
        if encoder.num_labels != 1:
            raise ValueError(f"{encoder.num_labels} labels where a reranker has 1")
        return encoder

    def _score(self, pairs: list[tuple[str, str]]) -> list[float]:
        import torch

        scores = self._model.predict(
            pairs,
            batch_size=BATCH_SIZE,
            show_progress_bar=False,
            activation_fn=torch.nn.Sigmoid(),
        )
        return [float(score) for score in scores]
