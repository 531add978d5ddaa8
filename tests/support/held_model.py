"""A local model that answers when it is let go."""

import time
from pathlib import Path

from pgblend.cli.models.embedding_models import EmbeddingModel
from pgblend.cli.models.model_process import Given


class HeldModel(EmbeddingModel):
    """Answers once a file is there, with the vector [1]."""

    extra = "gateway"
    batch_size = 1

    def __init__(self, let_go: str, name: str = "local/held") -> None:
        super().__init__(name, let_go=let_go)
        self.let_go = Path(let_go)

    def _read(self) -> object:
        self.dimensions = 1
        return self

    def _encode(self, texts: list[str], is_passage: bool) -> Given:
        while not self.let_go.exists():
            time.sleep(0.01)
        return Given(len(texts), b"\0\0\x80?" * len(texts))
