"""Every route by every role: who may ask for what, and nobody else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from served import PLAN, E, Served

from discreet.serve._keys import ROLES
from discreet.serve._routes import ENDPOINTS, Endpoint

BODIES: dict[str, Any] = {
    "assign": {"unit": "p"}, "outcomes": {"unit": "p", "outcome": 1},
    "assign_many": {"units": [{"unit": "p"}]},
    "outcomes_many": {"outcomes": [{"unit": "p", "outcome": 1}]}, "withdrawals": {"unit": "p"},
    "corrections": {"unit": "p", "outcome": 1},
    "exposures": {"exposures": [{"unit": "p", "arm": "A", "version": 1}]},
    "evaluate": {"context": {"targetingKey": "p"}},
    "evaluate_many": {"context": {"targetingKey": "p"}}, "create": PLAN, "drop": {"arm": "nobody"},
    "add": {"arm": "A"}, "make_key": {"role": "site"},
    "device_report": {"experiment": "exp", "unit": "p", "bit": 1},
}  # fmt: skip
MAY = {
    "admin": "create experiments experiment start stop drop add finish confirm_clock fence weights "
    "report releases events audit make_key keys revoke_key",
    "site": "assign outcomes assign_many outcomes_many withdrawals corrections exposures evaluate "
    "evaluate_many experiments experiment",
    "nurse": "assign outcomes assign_many outcomes_many withdrawals corrections experiments "
    "experiment",
    "statistician": "experiments experiment weights report releases events",
    "monitor": "experiments experiment report releases events audit",
    "device": "device device_report evaluate evaluate_many",
}
"""By hand, so that a route that is opened to somebody is opened here too."""
OPEN = {"health", "ready", "metrics", "openapi"}
REFUSED_OTHERWISE = {
    "drop": 422, "add": 422, "create": 409, "fence": 409, "revoke_key": 404, "weights": 409,
    "exposures": 422, "device_report": 409,
}  # fmt: skip
"""What these requests come to where the role is right."""


@pytest.fixture(scope="module")
def keys(shared: Served) -> dict[str, str]:
    shared.plan()
    return {role: shared.key(role) for role in ROLES}


def status(served: Served, one: Endpoint, key: str | None) -> int:
    path = one.path.replace("{experiment}", "exp").replace("{key}", "0" * 16)
    if one.name == "events":
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        with served.http.stream("GET", path, headers=headers) as stream:
            return stream.status_code
    body = BODIES.get(one.name, {}) if one.takes is not None else None
    return served.call(one.method, path, key, body).status_code


@pytest.mark.parametrize("one", ENDPOINTS, ids=lambda one: one.name)
@pytest.mark.parametrize("role", ROLES)
def test_routes_by_role(shared: Served, keys: dict[str, str], role: str, one: Endpoint) -> None:
    found = status(shared, one, keys[role])
    if one.name not in OPEN and one.name not in MAY[role].split():
        assert found == 403
        return
    if role == "nurse" and one.name in ("assign", "assign_many"):
        assert found == 501  # kit codes are not there yet, and the arm is not for them
    elif one.name in REFUSED_OTHERWISE:
        assert found in (REFUSED_OTHERWISE[one.name], 200, 202, 409)  # it was stopped before
    else:
        assert found < 300 or (found == 409 and one.name == "assign")  # it was stopped before


@pytest.mark.parametrize("one", ENDPOINTS, ids=lambda one: one.name)
def test_without_a_key_only_what_is_open(shared: Served, one: Endpoint) -> None:
    wrong = f"dk_{'0' * 16}_{'0' * 64}"
    for key in (None, "", "nonsense", wrong) if one.name not in OPEN else (None,):
        if key == "":
            continue
        assert status(shared, one, key) == (200 if one.name in OPEN else 401)
    shared.service.wrong._left.clear()  # else so many wrong keys are too many


@pytest.mark.parametrize("one", [o for o in ENDPOINTS if "{experiment}" in o.path],
                         ids=lambda one: one.name)  # fmt: skip
def test_other_experiments_and_tenants_leave_no_trace(shared: Served, one: Endpoint) -> None:
    """The same answer as for an experiment that there is not."""
    role = next(iter(one.roles or ()))
    foreign = shared.key(role, tenant="other")
    scoped = shared.key(role, experiment="another")
    there_is_none = one.path.replace("{experiment}", "nothing")
    body = BODIES.get(one.name, {}) if one.takes is not None else None
    path = one.path.replace("{experiment}", "exp")
    expected = shared.call(one.method, there_is_none, shared.key(role), body)
    assert expected.status_code == 404
    for key in (foreign, scoped):
        found = shared.call(one.method, path, key, body)
        assert found.status_code == 404
        assert found.text.replace("exp", "nothing") == expected.text.replace("exp", "nothing")


def test_a_scoped_key_sees_its_experiment_alone(shared: Served) -> None:
    shared.call("POST", "/v1/experiments", "", {**PLAN, "id": "second"})
    mine = shared.key("admin", experiment="second")
    assert [one["id"] for one in shared.get("/v1/experiments", mine)["experiments"]] == ["second"]
    assert shared.call("POST", "/v1/experiments", mine, {**PLAN, "id": "third"}).status_code == 403
    assert shared.call("POST", "/v1/keys", mine, {"role": "site"}).status_code == 403
    made = shared.post("/v1/keys", {"role": "site", "experiment": "second"}, mine)
    assert {one["experiment"] for one in shared.get("/v1/keys", mine)["keys"]} == {"second"}
    assert shared.call("DELETE", f"/v1/keys/{made['id']}", mine).status_code == 200
    entries = shared.get("/v1/audit", mine)["entries"]
    assert {one["experiment"] for one in entries} == {"second"}
    other = shared.key("admin", tenant="other")
    assert shared.get("/v1/experiments", other)["experiments"] == []
    assert all(one["experiment"] is None for one in shared.get("/v1/keys", other)["keys"])


def test_every_body_of_the_tests_is_one(shared: Served) -> None:
    for one in ENDPOINTS:
        if one.takes is not None:
            msgspec.convert(BODIES.get(one.name, {}), one.takes)
    assert E
