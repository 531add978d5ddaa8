"""What README says of gateway_url and log_address: a superuser can pin them."""

import re
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

README = Path(__file__).parents[2] / "README.md"
SOCKET = "unix:/run/pgblend/gateway.sock"


def test_an_admin_cannot_write_addresses_that_are_pinned(
    connection: psycopg.Connection, connect_as: Callable[..., psycopg.Connection]
) -> None:
    pin = re.search(
        r"```postgresql\n(ALTER TABLE pgblend_data\.setting .*?)```", README.read_text(), re.S
    )
    assert pin
    admin = connect_as("pgblend_admin")
    write = "SELECT blend.set_setting(%s, to_jsonb(%s::text))"
    admin.execute(write, ["gateway_url", "http://10.0.0.1:80"])
    admin.execute("SELECT blend.reset_setting('gateway_url')")
    connection.execute(pin[1])  # type: ignore[call-overload]
    for name in ("gateway_url", "log_address"):
        other = "http://10.0.0.1:80" if name == "gateway_url" else "10.0.0.1:80"
        with pytest.raises(psycopg.errors.CheckViolation):
            admin.execute(write, [name, other])
    admin.execute(write, ["gateway_url", SOCKET])
    admin.execute(write, ["log_address", f"{SOCKET}.log"])
    admin.execute("SELECT blend.reset_setting('gateway_url')")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        admin.execute("ALTER TABLE pgblend_data.setting DROP CONSTRAINT pinned")
