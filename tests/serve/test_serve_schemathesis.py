"""Requests made from the description itself, in sequences: no 5xx, and no answer it does not have.

Short here; `make schemathesis` sets DISCREET_EXAMPLES for more.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import FlakyStrategyDefinition
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from served import Served, serving

from discreet.serve._keys import ROLES, Rate

EXAMPLES = int(os.environ.get("DISCREET_EXAMPLES", "4"))
CHECKS = (
    status_code_conformance, content_type_conformance, response_schema_conformance,
)  # fmt: skip
KINDS = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)  # fmt: skip


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("asked")
    rate = Rate(1e6, 1e6)
    with serving(folder / "data", key_rate=rate, address_rate=rate, wrong_rate=rate) as found:
        found.plan(deadline="1 day")
        yield found


def test_every_operation_keeps_to_its_description(asked: Served) -> None:
    """Good and bad requests, by every role: paths often name the experiment that there is."""
    document: dict[str, Any] = asked.get("/v1/openapi.json")
    document["paths"].pop("/v1/experiments/{experiment}/events")  # a stream has no end
    for each in document["paths"].values():
        for operation in each.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "experiment":
                    parameter["schema"] = {"enum": ["exp", "none", "UPPER"]}
    schema: Any = schemathesis.openapi.from_dict(document)
    schema.config.base_url = asked.url
    keys = [asked.key(role) for role in ROLES]
    seen: set[int] = set()
    for found in schema.get_all_operations():
        operation = found.ok()

        @KINDS
        @given(case=operation.as_strategy())
        def run(case: Any) -> None:
            for key in keys:
                case.headers = {**(case.headers or {}), "Authorization": f"Bearer {key}"}
                response = case.call(timeout=30)
                case.validate_response(response, checks=list(CHECKS))
                assert response.status_code < 500, "a server error"
                seen.add(response.status_code)

        run()
    assert {200, 202, 403, 404, 422} <= seen


def test_sequences_keep_to_the_description(asked: Served) -> None:
    """What is made is used: experiments are planned, started, filled, stopped; keys are revoked."""
    document: dict[str, Any] = asked.get("/v1/openapi.json")
    document["paths"].pop("/v1/experiments/{experiment}/events")
    for each in document["paths"].values():
        for operation in each.values():
            for answer in operation["responses"].values():
                answer.get("links", {}).pop("events", None)
    plan = document["components"]["schemas"]["NewExperiment"]
    plan["additionalProperties"] = False
    plan["properties"] |= {  # so that most of what is asked for is an experiment
        "policy": {"enum": ["dp-imed", "adap-klucb"]}, "epsilon": {"enum": [0.5, 1.0]},
        "arms": {"enum": [["A", "B"], [1, 2, 3]]}, "deadline": {"enum": ["1 day", "1 s"]},
        "missing": {"enum": [0.0, "estimate"]}, "strata": {"enum": [None, ["m", "w"]]},
        "design": {"enum": [None]},
    }  # fmt: skip
    plan["required"] = ["id", "arms", "policy", "epsilon", "deadline", "missing"]
    schema: Any = schemathesis.openapi.from_dict(document)
    schema.config.base_url = asked.url
    roles = {"assign": "site", "outcomes": "site", "evaluate": "site", "device": "device",
             "assign_many": "site", "outcomes_many": "site", "evaluate_many": "site",
             "withdrawals": "site", "corrections": "site", "exposures": "site"}  # fmt: skip
    keys: dict[str, str] = {role: asked.key(role) for role in ROLES}
    seen: set[tuple[str, int]] = set()
    bad: list[str] = []

    class Sequences(schema.as_state_machine()):  # type: ignore[misc]
        def setup(self) -> None:
            keys.update({role: asked.key(role) for role in ROLES})  # the last one may be revoked

        def before_call(self, case: Any) -> None:
            name = case.operation.definition.raw["operationId"]
            key = keys[roles.get(name, "admin")]
            case.headers = {**(case.headers or {}), "Authorization": f"Bearer {key}"}

        def validate_response(self, response: Any, case: Any, **_: Any) -> None:
            name = case.operation.definition.raw["operationId"]
            seen.add((name, response.status_code))
            if response.status_code >= 500:
                bad.append(f"{name}: {response.status_code}")
            try:
                case.validate_response(response, checks=list(CHECKS))
            except Exception as error:
                bad.append(f"{name}: {error}")

    # what comes next depends on what was made before, which Hypothesis may find inconsistent when
    # it tries a sequence again; whatever was wrong until then is in `bad`
    for steps in range(12, 17):  # more sequences, if Hypothesis gave up before one made anything
        with contextlib.suppress(FlakyStrategyDefinition):
            Sequences.run(settings=settings(KINDS, stateful_step_count=steps))
        if bad or ("create", 201) in seen:
            break
    assert bad == []
    assert ("create", 201) in seen
    assert any(name == "start" and status == 200 for name, status in seen), sorted(seen)
