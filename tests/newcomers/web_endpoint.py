"""Ten minutes: a trial behind a web endpoint, tried without a server. From docs/recipes.md."""

from functools import cache
from typing import Any

from flask import Flask, request

import discreet
from discreet import Outcomes
from discreet.errors import DiscreetError, TrialBusy

app = Flask(__name__)


@cache
def trial() -> discreet.Trial:
    return discreet.Trial(
        discreet.policy("dp-imed", epsilon=1.0), arms=["blue", "green"], path="trial.db",
        deadline="14 days", missing=0.0, outcomes=Outcomes(conflicts="ignore"),
    )  # fmt: skip


@app.post("/assign")
def assign() -> dict[str, Any]:
    return {"arm": trial().assign(request.json["visitor"])}  # type: ignore[index]


@app.post("/outcomes")
def record() -> tuple[dict[str, Any], int]:
    trial().record(request.json["visitor"], request.json["outcome"])  # type: ignore[index]
    return {}, 202


@app.errorhandler(DiscreetError)
def refused(error: DiscreetError) -> tuple[dict[str, Any], int]:
    return {"error": str(error)}, 503 if isinstance(error, TrialBusy) else 400


browser = app.test_client()
answer = browser.post("/assign", json={"visitor": "visitor-1"})
print(answer.status_code, answer.get_json()["arm"])
print(browser.post("/outcomes", json={"visitor": "visitor-1", "outcome": 1.0}).status_code)
print(browser.post("/outcomes", json={"visitor": "visitor-2", "outcome": 1.0}).status_code)
trial().close()
