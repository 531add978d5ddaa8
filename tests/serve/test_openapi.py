"""What /openapi.json says is what the door does: schemathesis tries it."""

from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator
from schemathesis import GenerationMode, checks
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi import checks as openapi_checks

from pgblend.cli.doors.openapi import openapi
from pgblend.cli.doors.operations import ENDPOINTS, printed
from pgblend.cli.doors.schemas import as_meant
from pgblend.cli.models.gateway_options import CallLimits

EXAMPLES = 5  # of each path
MORE_EXAMPLES = 200
# No answer is asked for: it would cost a model's time. Options and names are the database's to say.
CHECKS = [
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.negative_data_rejection,
]
REQUESTS = {endpoint.path: endpoint.request for endpoint in ENDPOINTS}
REFUSALS = [400, 401, 403, 404, 409, 413, 415, 429]  # 413, 429: see check
described = schemathesis.openapi.from_dict(
    openapi(),
    config=SchemathesisConfig.from_dict(
        {"checks": {"negative_data_rejection": {"expected-statuses": REFUSALS}}}
    ),
)


def trying(examples: int) -> settings:
    """Return how many examples are tried, the same ones each time."""
    return settings(
        max_examples=examples,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )


@described.parametrize()
@trying(EXAMPLES)
def test_the_door_does_what_it_says(case: Any, door: Any) -> None:
    check(case, door)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operation", "mode"),
    [
        pytest.param(operation, mode, id=f"{operation.label} {mode.value}")
        for operation in (found.ok() for found in described.get_all_operations())
        for mode in GenerationMode
        # Where nothing is given, nothing given is wrong.
        if mode is GenerationMode.POSITIVE or operation.body or operation.path_parameters
    ],
)
def test_the_door_does_what_it_says_of_much_more(operation: Any, mode: Any, door: Any) -> None:
    """The cases that a schema gives are tried above; here are those made by chance."""

    @trying(MORE_EXAMPLES)
    @given(case=operation.as_strategy(mode))
    def tried(case: Any) -> None:
        check(case, door)

    tried()


def check(case: Any, door: Any) -> None:
    headers = {"Authorization": f"Bearer {door.tokens['open']}"}
    response = case.call(base_url=door.process.url, headers=headers)
    if response.status_code == 413:
        assert len(response.request.body) > CallLimits().body_bytes
    if response.status_code == 429:
        assert response.request.headers.get("Authorization") != headers["Authorization"]
    # What fits as it was meant is taken: null for what may be left out, JSON as text.
    excluded = [openapi_checks.negative_data_rejection] if fits_as_meant(case) else []
    case.validate_response(response, checks=CHECKS, excluded_checks=excluded, headers=headers)


def fits_as_meant(case: Any) -> bool:
    schema = REQUESTS.get(case.path)
    if schema is None or not isinstance(case.body, dict):
        return False
    return Draft202012Validator(schema).is_valid(as_meant(case.body, schema))


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.path)
@pytest.mark.parametrize("token", ["", "Bearer pgblend_of_nobody"])
def test_no_endpoint_answers_without_a_token(door: Any, endpoint: Any, token: str) -> None:
    """429: who has none may call ten times a second."""
    headers = {"Authorization": token}
    answer = httpx.post(f"{door.process.url}{endpoint.path}", json={}, headers=headers)
    assert answer.status_code in (401, 429)


def test_it_is_served_and_has_every_endpoint(client: httpx.Client) -> None:
    document = client.get("/openapi.json", headers={"Authorization": ""}).json()
    assert document == openapi()
    assert {endpoint.path for endpoint in ENDPOINTS} < document["paths"].keys()


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.path)
def test_schemas_are_schemas_and_those_of_the_command_line(endpoint: Any) -> None:
    Draft202012Validator.check_schema(endpoint.request)
    answer = endpoint.response()
    Draft202012Validator.check_schema(answer)
    assert {"degraded", "warnings"} <= set(answer["required"])
    if endpoint.answers:
        assert printed(endpoint.answers)["properties"].items() <= answer["properties"].items()
