"""Experiments as feature flags: our provider, and the public one over OFREP."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason
from openfeature.track import TrackingEventDetails
from served import Served

from discreet.openfeature import DiscreetProvider


def someone(name: str, **more: Any) -> EvaluationContext:
    return EvaluationContext(name, more)


@pytest.fixture
def flags(served: Served) -> Iterator[OpenFeatureClient]:
    served.plan(deadline="1 day")
    served.plan(id="switch", arms=["on", "off"], deadline="1 day")
    served.plan(id="sizes", arms=[1, 2], deadline="1 day")
    provider = DiscreetProvider(
        served.url, served.site, timeout=2.0, every=0.05, events={"bought": ["exp", "switch"]}
    )
    api.set_provider(provider)
    yield api.get_client()
    api.clear_providers()


@pytest.fixture
def remote(served: Served) -> Iterator[OpenFeatureClient]:
    served.plan(deadline="1 day")
    served.plan(id="switch", arms=["on", "off"], deadline="1 day")
    headers = {"authorization": f"Bearer {served.site}"}
    api.set_provider(OFREPProvider(served.url, headers_factory=lambda: headers))
    yield api.get_client()
    api.clear_providers()


def assigned(served: Served, name: str) -> int:
    return int(served.get(f"/v1/experiments/{name}")["assigned"])


def test_flags_are_arms(served: Served, flags: OpenFeatureClient) -> None:
    found = flags.get_string_details("exp", "C", someone("p"))
    assert (found.reason, found.value) == (Reason.SPLIT, found.variant)
    assert found.value == served.assign("p")
    assert flags.get_string_value("exp", "C", someone("p")) == found.value
    switch = flags.get_boolean_details("switch", False, someone("p"))
    assert switch.value is (switch.variant == "on")
    size = flags.get_integer_details("sizes", 0, someone("p"))
    assert (size.value in (1, 2), size.variant) == (True, str(size.value))
    assert [assigned(served, name) for name in ("exp", "switch", "sizes")] == [1, 1, 1]


def test_flags_that_cannot_be(served: Served, flags: OpenFeatureClient) -> None:
    """The caller's default, the code of the specification, and no place is taken."""
    none = flags.get_string_details("nothing", "C", someone("p"))
    assert (none.value, none.error_code) == ("C", ErrorCode.FLAG_NOT_FOUND)
    nobody = flags.get_string_details("exp", "C")
    assert (nobody.value, nobody.error_code) == ("C", ErrorCode.TARGETING_KEY_MISSING)
    wrong = flags.get_integer_details("exp", 7, someone("p"))
    assert (wrong.value, wrong.error_code) == (7, ErrorCode.TYPE_MISMATCH)
    for found in (flags.get_float_details("sizes", 0.5, someone("p")),
                  flags.get_object_details("exp", {"a": 1}, someone("p")),
                  flags.get_boolean_details("exp", True, someone("p"))):  # fmt: skip
        assert found.error_code == ErrorCode.TYPE_MISMATCH
    strange = flags.get_string_details("exp", "C", someone("p", stratum="men"))
    assert (strange.value, strange.error_code) == ("C", ErrorCode.INVALID_CONTEXT)
    assert [assigned(served, name) for name in ("exp", "sizes")] == [0, 0]


def test_a_stopped_experiment_shows_the_default(served: Served, flags: OpenFeatureClient) -> None:
    kept = flags.get_string_value("exp", "C", someone("p"))
    served.post("/v1/experiments/exp/stop", {"by": "public"})
    found = flags.get_string_details("exp", "C", someone("q"))
    assert (found.value, found.reason, found.error_code) == ("C", Reason.DEFAULT, None)
    assert flags.get_string_value("exp", "C", someone("p")) == kept
    flags.track("exp", someone("q"), TrackingEventDetails(1.0))  # was shown no arm of it
    flags.track("exp", someone("p"), TrackingEventDetails(1.0))
    served.until(lambda: served.answered("exp") == 1)
    time.sleep(0.2)
    assert served.answered("exp") == 1


def test_events_are_outcomes(
    served: Served, flags: OpenFeatureClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for unit in ("p", "q"):
        flags.get_string_value("exp", "C", someone(unit))
        flags.get_boolean_value("switch", False, someone(unit))
    senders: list[int] = []
    send = httpx.Client.send

    def noted(self: httpx.Client, *given: Any, **more: Any) -> Any:
        senders.append(threading.get_ident())
        return send(self, *given, **more)

    monkeypatch.setattr(httpx.Client, "send", noted)
    flags.track("bought", someone("p"))
    flags.track("exp", someone("q"), TrackingEventDetails(0.0))
    flags.track("exp")
    flags.track("exp", someone("q"), TrackingEventDetails(float("nan")))
    assert threading.get_ident() not in senders  # whoever tracks waits for no request
    api.clear_providers()  # shuts down, which sends what waits
    served.until(lambda: (served.answered("exp"), served.answered("switch")) == (2, 1))


def test_a_service_that_is_away_shows_the_default() -> None:
    provider = DiscreetProvider("http://127.0.0.1:1", "key", timeout=0.2)
    api.set_provider(provider)
    found = api.get_client().get_string_details("exp", "C", someone("p"))
    assert (found.value, found.reason) == ("C", Reason.DEFAULT)
    api.clear_providers()


# --- the public provider --------------------------------------------------------------------------


def test_the_public_provider_gets_arms(served: Served, remote: OpenFeatureClient) -> None:
    found = remote.get_string_details("exp", "C", someone("p"))
    assert (found.reason, found.value, found.variant) == (Reason.SPLIT, *[served.assign("p")] * 2)
    assert isinstance(remote.get_boolean_value("switch", False, someone("p")), bool)
    none = remote.get_string_details("nothing", "C", someone("p"))
    assert (none.value, none.error_code) == ("C", ErrorCode.FLAG_NOT_FOUND)
    nobody = remote.get_string_details("exp", "C", EvaluationContext())
    assert nobody.error_code == ErrorCode.TARGETING_KEY_MISSING
    strange = remote.get_string_details("exp", "C", someone("q", stratum="men"))
    assert strange.error_code == ErrorCode.INVALID_CONTEXT
    served.post("/v1/experiments/exp/stop", {"by": "public"})
    over = remote.get_string_details("exp", "C", someone("q"))
    assert (over.value, over.reason) == ("C", Reason.DEFAULT)
    assert assigned(served, "exp") == 1


def test_a_bulk_request_enrols_nobody_who_was_not_asked_for(served: Served) -> None:
    served.plan(deadline="1 day")
    served.plan(id="switch", arms=["on", "off"], deadline="1 day")
    arm = served.assign("known")
    path = "/ofrep/v1/evaluate/flags"

    def bulk(**context: Any) -> Any:
        return served.post(path, {"context": context}, served.site)["flags"]

    assert bulk(targetingKey="new") == []
    assert [assigned(served, name) for name in ("exp", "switch")] == [1, 0]
    (one,) = bulk(targetingKey="known")
    assert (one["key"], one["value"], one["reason"]) == ("exp", arm, "SPLIT")
    flags = bulk(targetingKey="known", enrol=["switch", "nothing"])
    assert [flag["key"] for flag in flags] == ["exp", "switch"]
    assert isinstance(flags[1]["value"], bool)
    assert [assigned(served, name) for name in ("exp", "switch")] == [1, 1]
    body = {"context": {"targetingKey": "known"}}
    first = served.call("POST", path, served.site, body)
    again = served.call("POST", path, served.site, body,
                        headers={"if-none-match": first.headers["etag"]})  # fmt: skip
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    for context, code in (({}, "TARGETING_KEY_MISSING"), ({"targetingKey": 7}, "INVALID_CONTEXT"),
                          ({"targetingKey": "p", "enrol": "exp"}, "INVALID_CONTEXT")):  # fmt: skip
        found = served.call("POST", path, served.site, {"context": context})
        assert (found.status_code, found.json()["errorCode"]) == (400, code)
