"""torch and transformers, set up so that they stay offline, quiet and within a few threads."""

import importlib
import os
from typing import Any

from pgblend.cli.models.local_weights import thread_count


def prepare_torch() -> None:
    """Prepare the libraries; call it before a model is read."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one text after another; threads are torch's
    import torch

    transformers_logging: Any = importlib.import_module("transformers.utils.logging")
    transformers_logging.disable_progress_bar()
    torch.set_num_threads(thread_count())
