"""The step that finds entities, as the command and an ingest run it."""

from contextlib import ExitStack

from pgblend.cli.database import Connection, connect, fetch_value
from pgblend.cli.errors import UserError
from pgblend.cli.graph.entities import Extraction, extract_entities
from pgblend.cli.ingest.gateway_client import GatewayClient, GatewayUnavailableError
from pgblend.cli.ingest.spaces import get_setting
from pgblend.cli.shards.places import find_places

_COLLECTION = "SELECT (pgblend._writable_collection(%(name)s::text)).id"


def run_entities(connection: Connection, collection: str) -> Extraction:
    """Find entities in a collection by the settings' gateway and model; UserError without them."""
    collection_id = fetch_value(connection, _COLLECTION, {"name": collection})
    url, model = (get_setting(connection, name) for name in ("gateway_url", "entity_model"))
    if not url:
        raise UserError(
            "no model gateway is set",
            hint="start one (`pgblend gateway`), name it (`pgblend config set gateway_url …`)",
        )
    if not model:
        raise UserError(
            "no model is set that finds entities",
            hint="name one: pgblend config set entity_model provider/model",
        )
    try:
        with GatewayClient(url) as client, ExitStack() as stack:
            shards = [stack.enter_context(connect(one.url)) for one in find_places(connection)]
            return extract_entities(
                connection, shards or [connection], client, collection_id, model
            )
    except GatewayUnavailableError as error:
        raise UserError(error.reason, hint=error.hint) from error
