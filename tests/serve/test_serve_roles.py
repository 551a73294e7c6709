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
    "report releases events audit make_key keys revoke_key rotate_key",
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
    "drop": 422, "add": 422, "create": 409, "fence": 409, "revoke_key": 404, "rotate_key": 404,
    "weights": 409, "exposures": 422, "device_report": 409,
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
        assert found == 409  # there are no kits, and the arm is not for them
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


KITS = {"drug": [f"kit-{i}" for i in range(40)], "placebo": [f"m{i}" for i in range(40)]}


def test_who_meets_participants_sees_codes_of_kits_and_no_arm(served: Served) -> None:
    """Every answer of every route and page to these roles, by content."""
    from discreet.serve._pages import PAGES

    plan = {**PLAN, "arms": list(KITS), "kits": KITS, "deadline": "0.4 s", "first": 2}
    served.post("/v1/experiments", plan)
    served.post(f"{E}/start", {})
    nurse = served.key("nurse")
    codes = {served.post(f"{E}/assign", {"unit": f"p{i}"}, nurse)["arm"] for i in range(8)}
    assert codes <= {code for each in KITS.values() for code in each}
    served.until(lambda: served.get(f"{E}/report")["releases"] > 0)
    assert "kit-1" not in served.call("GET", "/v1/audit", served.key("monitor")).text
    paths = [route.path.replace("{experiment}", "exp") for route in PAGES]
    for role in ("site", "nurse", "device"):
        key = served.key(role)
        answers = []
        for one in ENDPOINTS:
            if one.roles is None or role not in one.roles:
                continue
            body = BODIES.get(one.name, {}) if one.takes is not None else None
            found = served.call(one.method, one.path.replace("{experiment}", "exp"), key, body)
            assert found.status_code != 500
            answers.append(found.text)
        served.http.cookies.clear()
        served.http.post("/login", data={"key": key}, headers={"origin": served.url})
        answers += [served.http.get(path).text for path in paths if "{" not in path]
        served.http.cookies.clear()
        told = " ".join(answers)
        for name in KITS:
            assert name not in told, (role, name)
        assert '"arms":[]' in told  # nor how many there are of each


def test_a_nurse_never_sees_an_arm(served: Served) -> None:
    served.plan(arms=["drug", "placebo"])
    nurse = served.key("nurse")
    for path in ("/v1/experiments", E):
        assert "drug" not in served.call("GET", path, nurse).text
    assert served.get(E, served.site)["arms"] == ["drug", "placebo"]  # a site gives the arms


def test_every_body_of_the_tests_is_one(shared: Served) -> None:
    for one in ENDPOINTS:
        if one.takes is not None:
            msgspec.convert(BODIES.get(one.name, {}), one.takes)
    assert E
