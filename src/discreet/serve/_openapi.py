"""The description of the API, made of the types and routes that serve it."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any

import msgspec

from .._version import __version__
from ._problems import KINDS, MEDIA, Problem
from ._routes import ENDPOINTS, Endpoint, statuses

REFERENCE = "#/components/schemas/{name}"
ID = {"type": "string", "pattern": "^[a-z0-9-]{1,64}$", "maxLength": 64}
PATHS = {
    "experiment": {"description": "The id of the experiment.", "schema": ID},
    "key": {
        "description": "The public part of the key.",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{16}$", "maxLength": 16},
    },
}
ABOUT = (
    "Adaptive experiments that keep their participants' secrets. Everything that is recorded is "
    "answered by one and the same 202. No answer repeats a value of its request."
)


@cache
def description() -> bytes:
    """The document, as JSON."""
    return msgspec.json.encode(document())


def document() -> dict[str, Any]:
    """OpenAPI 3.1."""
    types = [one.takes for one in ENDPOINTS if one.takes is not None]
    types += [kind for one in ENDPOINTS for kind in one.gives.values() if not isinstance(kind, str)]
    unique = list(dict.fromkeys([*types, Problem]))
    shapes, components = msgspec.json.schema_components(unique, ref_template=REFERENCE)
    shape_of = dict(zip(unique, shapes, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for one in ENDPOINTS:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, shape_of)
    return {
        "openapi": "3.1.0",
        "info": {"title": "discreet serve", "version": __version__, "description": ABOUT},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: Endpoint, shape_of: dict[Any, Any]) -> dict[str, Any]:
    words = inspect.cleandoc(one.handler.__doc__ or "")
    who = "anyone" if one.roles is None else ", ".join(one.roles)
    found: dict[str, Any] = {
        "operationId": one.name,
        "summary": re.split(r"(?<=[.:])\s", words)[0],
        "description": f"{words}\n\nFor: {who}.",
        "security": [] if one.roles is None else [{"key": []}],
        "responses": {
            str(status): _answer(status, kind, shape_of) for status, kind in statuses(one).items()
        },
    }
    if one.name in LINKS:
        found["responses"]["201"]["links"] = _links(LINKS[one.name])
    names = re.findall(r"{(\w+)}", one.path)
    parameters = [{"name": name, "in": "path", "required": True, **PATHS[name]} for name in names]
    parameters += MORE.get(one.name, [])
    if parameters:
        found["parameters"] = parameters
    if one.takes is not None:
        content = {"application/json": {"schema": shape_of[one.takes]}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _answer(status: int, kind: Any, shape_of: dict[Any, Any]) -> dict[str, Any]:
    if kind == "problem":
        titles = [known.title for known in KINDS.values() if known.status == status]
        content = {MEDIA: {"schema": shape_of[Problem]}}
        found: dict[str, Any] = {"description": "; ".join(titles), "content": content}
        if status in (429, 503):
            seconds = {"schema": {"type": "string", "pattern": "^[0-9]+$"}}
            found["headers"] = {"Retry-After": {"description": "Seconds.", **seconds}}
        return found
    words = {200: "Done.", 201: "Made.", 202: "Accepted.", 304: "Nothing changed."}
    said = words.get(status, "It could not be evaluated.")
    if kind == "":
        return {"description": said}
    media = kind if isinstance(kind, str) else "application/json"
    shape = {"type": "string"} if isinstance(kind, str) else shape_of[kind]
    return {"description": said, "content": {media: {"schema": shape}}}


LINKS = {"create": "experiment", "make_key": "key"}
"""What is made, and the parameter that its id is good for."""


def _links(parameter: str) -> dict[str, Any]:
    """Where one can go from something that was made."""
    paths = [one for one in ENDPOINTS if f"{{{parameter}}}" in one.path]
    return {
        one.name: {"operationId": one.name, "parameters": {parameter: "$response.body#/id"}}
        for one in paths
    }


def _query(name: str, place: str, words: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "description": words, "schema": schema}


MORE: dict[str, list[dict[str, Any]]] = {
    "create": [
        _query("Idempotency-Key", "header", "A repeated request with it has the same answer.",
               type="string", minLength=1, maxLength=255, pattern="^[!-~]+$"),
    ],
    "audit": [
        _query("after", "query", "Entries with larger numbers.", type="integer", minimum=0,
               maximum=10**15 - 1),
    ],
    "events": [
        _query("Last-Event-ID", "header", "The last release that is known.", type="string",
               pattern="^[0-9]{1,9}$"),
    ],
    "evaluate_many": [
        _query("If-None-Match", "header", "The ETag of the last answer.", type="string",
               pattern="^[!-~]+$"),
    ],
}  # fmt: skip
