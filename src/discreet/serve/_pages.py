"""Pages for people. A route here is a path and a function from a request to a response."""

from __future__ import annotations

from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from .._version import __version__

POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY, "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer", "cache-control": "no-store",
}  # fmt: skip


async def home(request: Request) -> Response:
    """What runs here. Nothing of any experiment: whoever sees this page has shown no key."""
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>discreet serve</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><main><h1>discreet serve</h1>
<p>Adaptive experiments that keep their participants' secrets. Version {escape(__version__)}.</p>
<ul><li><a href="/v1/openapi.json">The API</a>, as OpenAPI 3.1</li>
<li><a href="/readyz">Whether the service is ready</a></li>
<li><a href="/metrics">Metrics</a>; none of them counts answers</li></ul>
<p>Experiments are shown to holders of a key, at <code>/v1/experiments</code>.</p>
</main></body></html>
"""
    return HTMLResponse(text, headers=HEADERS)


PAGES = [Route("/", home, methods=["GET"])]
"""The table of pages."""
