"""What the page asks beside the endpoints that everybody has; not part of the interface."""

from pgblend.cli.serve import request_schemas
from pgblend.cli.serve.endpoints import Endpoint
from pgblend.cli.serve.page.explained import explained
from pgblend.cli.serve.page.overview import overview
from pgblend.cli.serve.request_schemas import closed_object

PAGE_ENDPOINTS = (
    Endpoint("/page/overview", overview, "search", closed_object([], {}), ""),
    Endpoint("/page/explain", explained, "search", request_schemas.SEARCH, ""),
)
