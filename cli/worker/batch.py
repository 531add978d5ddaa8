"""Vectors for a batch of texts, of which some may be poison to the model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from uuid import uuid4

from pgvector import Vector

from pgblend.cli.errors import UserError
from pgblend.cli.ingest.gateway_client import GatewayClient, GatewayUnavailableError
from pgblend.cli.ingest.spaces import Space
from pgblend.cli.worker.queue import Queue

# No cache knows it, so that an answer shows the model at work.
_PROBE_TEXT = "Is this model there? {}"


@dataclass
class Batch:
    """What became of texts: a vector, a reason why there is none, or, of the rest, nothing yet."""

    space: Space
    vectors: dict[int, Vector] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)

    def embed(self, client: GatewayClient, texts: Mapping[int, str]) -> None:
        """Embed texts by chunk id.

        A refusal that may be a text's fault is looked into: where the model embeds another text,
        the batch is halved until the texts at fault are alone. GatewayUnavailableError where the
        model embeds nothing; what was embedded before stays in `vectors`.
        """
        try:
            found = self._vectors(client, list(texts.values()), "passage")
        except GatewayUnavailableError as error:
            if not error.may_be_the_text:
                raise
            self._probe(client, error)
            self._halve(client, texts, error)
        else:
            check_dimensions(self.space, found)
            self.vectors.update(zip(texts, found, strict=True))

    def _vectors(self, client: GatewayClient, texts: list[str], input_type: str) -> list[Vector]:
        return client.embed(self.space.model, texts, input_type, self.space.asked_dimensions)

    def _probe(self, client: GatewayClient, error: GatewayUnavailableError) -> None:
        """Raise the error again where the model refuses a harmless text too."""
        try:
            self._vectors(client, [_PROBE_TEXT.format(uuid4())], "query")
        except GatewayUnavailableError:
            raise error from None

    def _halve(
        self, client: GatewayClient, texts: Mapping[int, str], error: GatewayUnavailableError
    ) -> None:
        if len(texts) == 1:
            self.reasons.update(dict.fromkeys(texts, error.reason))
            return
        rest = iter(texts.items())
        half = dict(islice(rest, len(texts) // 2))
        self.embed(client, half)
        self.embed(client, dict(rest))


def check_dimensions(space: Space, vectors: list[Vector]) -> None:
    """Refuse vectors that the space does not hold: the gateway has another model by that name."""
    for vector in vectors:
        dimensions = vector.dimensions()
        if dimensions != space.dimensions:
            raise UserError(
                f"model {space.model!r} gave a vector of {dimensions} dimensions, embedding space "
                f"{space.name!r} holds {space.dimensions}",
                hint="nothing of this batch was stored; give the gateway the model that the space "
                "was made with, or make a new space for this one",
            )


@dataclass(frozen=True)
class Outcome:
    """Counts of one batch: taken from the queue, stored, set aside, and of these given up.

    `reason` is why the chunk `refused`, the first that was set aside, has no vector.
    """

    claimed: int = 0
    stored: int = 0
    failed: int = 0
    dead: int = 0
    reason: str = ""
    refused: int | None = None


def embed_batch(
    queue: Queue,
    client: GatewayClient,
    space: Space,
    batch_size: int,
    collection_id: int | None = None,
) -> Outcome:
    """Claim a batch, of one collection if it is given, embed it, store it.

    What the model refuses is set aside.

    Before that, tokens that were only estimated are counted.

    Where the model embeds nothing any more, its error is raised after what is done was stored and
    the rest given back.
    """
    texts = queue.claim(space, batch_size, collection_id)
    if not texts:
        return Outcome()
    batch = Batch(space)
    stored = dead = 0
    try:
        queue.count_tokens(list(texts))
        batch.embed(client, texts)
    finally:
        if batch.vectors:
            stored = queue.store(space, batch.vectors)
        if batch.reasons:
            dead = queue.fail(space, batch.reasons)
        if len(batch.vectors) + len(batch.reasons) < len(texts):
            queue.release()
    refused, reason = next(iter(batch.reasons.items()), (None, ""))
    return Outcome(len(texts), stored, len(batch.reasons), dead, reason, refused)
