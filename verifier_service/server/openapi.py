"""The OpenAPI document: the routes by FastAPI, the bodies from the models that decode them."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from verifier_service.schema import GoldsRequest, Problem, ScoreRequest

DESCRIPTION = """Verifiable rewards for training reasoning models.

`POST /score` takes a batch of completions with their golds and gives each a reward, or a null with a code.
A bad item never changes the status of the request nor its neighbours. Numbers are never NaN.
"""


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """The document, with bodies that FastAPI does not know of, since the routes read bytes."""
    document = get_openapi(
        title=app.title, version=app.version, description=DESCRIPTION, routes=app.routes, summary=app.summary
    )
    _, bodies = models_json_schema(
        [(ScoreRequest, "validation"), (GoldsRequest, "validation"), (Problem, "serialization")],
        ref_template="#/components/schemas/{model}",
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name, schema in bodies["$defs"].items():
        # Two models of one name, or one that reads and writes differently, would describe each other.
        if schemas.setdefault(name, schema) != schema:
            raise AssertionError(f"two schemas are called {name}")
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    # A key is asked for only where one is set, hence the empty alternative.
    document["security"] = [{}, {"key": []}]
    # Relative to the document, so that it holds under any prefix of a proxy.
    document["servers"] = [{"url": "./"}]
    return document
