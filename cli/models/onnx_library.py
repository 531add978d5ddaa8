"""onnxruntime, and models of folders that it runs."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from pgblend.cli.models.local_weights import TOKENIZER, most_tokens, onnx_file, unfit

_READS = {"input_ids", "attention_mask", "token_type_ids"}


class OnnxFolder(NamedTuple):
    """A model that is loaded; any number of threads share it."""

    tokenizer: Any
    session: Any
    reads: tuple[str, ...]
    gives: tuple[str, ...]

    def run(self, output: str, *texts: str) -> tuple[NDArray[np.float32], int]:
        """Return an output for one text or a pair of texts, and how many tokens were read."""
        encoded = self.tokenizer.encode(*texts)
        every = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        inputs = {name: np.array([every[name]], dtype=np.int64) for name in self.reads}
        (found,) = self.session.run([output], inputs)
        return np.asarray(found, dtype=np.float32), len(encoded.ids)


def open_onnx_folder(folder: Path) -> OnnxFolder:
    """Load the model of a folder; GatewayError where it reads what is not known here."""
    path = onnx_file(folder)
    assert path is not None
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(most_tokens(folder))
    session = onnx_session(str(path))
    reads = tuple(each.name for each in session.get_inputs())
    if unknown := set(reads) - _READS:
        raise unfit(folder, f"{path.name} reads {', '.join(sorted(unknown))}, which nobody gives")
    return OnnxFolder(tokenizer, session, reads, tuple(e.name for e in session.get_outputs()))


def onnx_session(weights: str | bytes) -> Any:
    """Return a session of a file or its bytes that runs in the caller's thread, and never spins."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
