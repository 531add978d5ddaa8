"""Vectors for all chunks that have none in one embedding space."""

from collections.abc import Callable
from dataclasses import dataclass

from pgblend.cli.database import Connection, fetch_value
from pgblend.cli.errors import UserError
from pgblend.cli.ingest.embedding import embed_waiting
from pgblend.cli.ingest.gateway_client import GatewayClient, GatewayUnavailableError
from pgblend.cli.ingest.progress import StartBar
from pgblend.cli.ingest.spaces import get_setting, read_spaces
from pgblend.cli.worker.batch import Outcome

_QUEUE = "SELECT blend.queue_missing_vectors(%(space)s::text)"


@dataclass
class Filled:
    """How many chunks got a vector, how many the model refused, and why the last of these."""

    embedded: int = 0
    refused: int = 0
    reason: str = ""


def fill_space(
    sessions: Callable[[int], list[Connection]], name: str, start_bar: StartBar, filled: Filled
) -> None:
    """Embed what has no vector in the space, also what went past the queue, and count it.

    UserError where there is no such space, no gateway, or a model that fails; what was stored
    stays.
    """
    (connection,) = sessions(1)
    fetch_value(connection, _QUEUE, {"space": name})
    space = next(each for each in read_spaces(connection) if each.name == name)
    url = get_setting(connection, "gateway_url")
    if not url:
        raise UserError(
            "no model gateway is set",
            hint="start one (`pgblend gateway`) and name it: pgblend config set gateway_url URL",
        )
    move_bar = start_bar(f"Embedding {name}", space.waiting, "chunks")

    def advance(outcome: Outcome) -> None:
        filled.embedded += outcome.stored
        filled.refused += outcome.failed
        filled.reason = outcome.reason or filled.reason
        move_bar(outcome.claimed)

    try:
        with GatewayClient(url) as client:
            embed_waiting(space, client, sessions, advance)
    except GatewayUnavailableError as error:
        raise UserError(error.reason, hint=error.hint) from None
