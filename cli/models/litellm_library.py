"""litellm, set up so that it does what it is told and nothing else."""

import gc
import importlib
import os
import warnings
from typing import Any

import httpx

from pgblend.cli.base.http_client import ask_unpacked, bounded

# Providers' answers, whose clients are litellm's: bounded as all others are.


def bound_providers() -> None:
    """Let every HTTP client of litellm stop reading at the limit, and follow nothing.

    The library makes clients in many places, and has no setting for this. It takes httpx's own
    transport where a proxy is set. They share these classes.
    """
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport

    for transport in (LiteLLMAiohttpTransport, httpx.AsyncHTTPTransport):
        _bound_async(transport)
    send = httpx.HTTPTransport.handle_request

    def handle_bounded(self: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        ask_unpacked(request)
        return bounded(send(self, request))

    httpx.HTTPTransport.handle_request = handle_bounded  # type: ignore[method-assign]


def _bound_async(transport: Any) -> None:
    send = transport.handle_async_request

    async def handle_bounded(self: Any, request: httpx.Request) -> httpx.Response:
        ask_unpacked(request)
        return bounded(await send(self, request))

    transport.handle_async_request = handle_bounded


def import_litellm() -> Any:
    """Import litellm (2 s, 160 MB) without downloads, telemetry, retries or talkative logs."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it downloads a price list
    os.environ["LITELLM_MODE"] = "PRODUCTION"  # else it reads .env files that nobody named
    os.environ.setdefault("LITELLM_LOG", "CRITICAL")  # its log lines may quote requests
    warnings.filterwarnings("ignore", module="pydantic")  # they quote values of answers
    gc.disable()  # what a module makes stays: looking for garbage takes a quarter of the time
    try:
        litellm: Any = importlib.import_module("litellm")
        gc.freeze()  # nor is it looked through while calls are answered
    finally:
        gc.enable()
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = True
    # Retries are decided here, within the caller's deadline; it reads a 0 as "not given".
    litellm.DEFAULT_MAX_RETRIES = 0
    bound_providers()
    return litellm


def knows_model(litellm: Any, model: str) -> bool:
    """Whether litellm's list has a model, and so knows what it takes and costs."""
    return model in litellm.model_cost or model.split("/")[-1] in litellm.model_cost
