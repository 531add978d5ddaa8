"""A session whose gateway is whatever a test says."""

from collections.abc import Callable

import psycopg
import pytest

from support.database import Database
from support.model_provider import ModelProvider

Point = Callable[[str], None]


@pytest.fixture
def client(module_connection: psycopg.Connection) -> Database:
    """A session in autocommit mode, on a database that the module's tests share."""
    return Database(module_connection)


@pytest.fixture
def point_to(client: Database) -> Point:
    """Set the address of the gateway."""

    def point(url: str) -> None:
        client.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", url)

    return point


@pytest.fixture
def provider(model_provider: ModelProvider, point_to: Point) -> ModelProvider:
    """The model provider, which the session takes for a gateway."""
    point_to(model_provider.url)
    return model_provider
