"""Embedding models in a folder, by sentence-transformers: the second runtime, an extra."""

import threading
from pathlib import Path
from typing import Any

from pgblend.cli.gateway.embedding_model import EmbeddingModel


class SentenceModel(EmbeddingModel):
    """A model in a folder; one call at a time, for its tokenizer takes no more."""

    extra = "torch"
    batch_size = 4  # what a question may have to wait for

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name)
        self._folder = folder

    def _read(self) -> Any:
        self._one_at_a_time = threading.Lock()
        from pgblend.cli.gateway.torch_library import prepare_torch

        prepare_torch()
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(self._folder), local_files_only=True)
        (warm_up,) = model.encode(["warm-up"], show_progress_bar=False)  # the first call allocates
        self.dimensions = len(warm_up)
        return model

    def _encode(self, texts: list[str], is_passage: bool) -> tuple[list[bytes], int]:
        with self._one_at_a_time:
            encode = self._model.encode_document if is_passage else self._model.encode_query
            matrix = encode(
                texts,
                batch_size=self.batch_size,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
            most = self._model.max_seq_length
            read = self._model.tokenizer(texts, truncation=True, max_length=most)
        tokens = sum(len(ids) for ids in read["input_ids"])
        return [row.tobytes() for row in matrix.astype("<f4")], tokens
