"""The client: the names of a trial, fallbacks, retries, and a service that restarts."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest
from served import PLAN, Served, serving

from discreet.client import AsyncClient, Client
from discreet.errors import InvalidArgument, ServiceError, TrialError

NOWHERE = "http://127.0.0.1:1"
SETTINGS = {key: value for key, value in PLAN.items() if key != "id"}


def test_an_experiment_by_the_client(served: Served) -> None:
    with Client(served.url, served.admin, "exp") as admin:
        assert admin.create(SETTINGS)["status"] == "planned"
        admin.start()
        assert (admin.status, admin.arms) == ("collecting", ("A", "B"))
        with Client(served.url, served.site, "exp", every=0.05) as trial:
            arm = trial.assign("p")
            assert trial.assign("p") == arm
            assert len(trial.assign_many([f"q{i}" for i in range(60)])) == 60
            trial.record("p", 1.0)
            trial.record_many([(f"q{i}", 1) for i in range(60)])
            served.until(lambda: trial.waiting == 0)
        with closing(admin.events(since=0)) as events:
            assert next(events) == 1
        assert admin.report()["assigned"] == 61
        assert admin.releases()[0]["arm"] in ("A", "B")
        admin.add("C")
        admin.drop("A")
        admin.stop("public")
        admin.finish()
        with (
            Client(served.url, served.site, "exp") as site,
            pytest.raises(TrialError, match="takes no more participants"),
        ):
            site.assign("new")
        with pytest.raises(TrialError, match="refuses that"):
            admin.weights()  # it is over


def test_the_same_by_asyncio(served: Served) -> None:
    async def main() -> None:
        async with AsyncClient(served.url, served.admin, "exp") as admin:
            await admin.create(SETTINGS)
            await admin.start()
            async with AsyncClient(served.url, served.site, "exp", every=0.05) as trial:
                units = [f"p{i}" for i in range(60)]
                arms = await asyncio.gather(*(trial.assign(unit) for unit in units))
                assert await trial.assign_many(units) == arms
                trial.record_many([(unit, 1.0) for unit in units])
            async with aclosing(admin.events(since=0)) as events:
                assert await anext(events) == 1
            assert (await admin.report())["assigned"] == 60
            assert (await admin.shown())["status"] == "collecting"
            await admin.stop()
            assert len(await admin.releases()) > 0

    asyncio.run(main())


def test_refusals_are_errors(served: Served) -> None:
    served.plan()
    with Client(served.url, served.site, "exp") as trial:
        with pytest.raises(InvalidArgument, match="unit must be"):
            trial.assign(None)
        with pytest.raises(InvalidArgument, match="outcome must be a finite number"):
            trial.record("p", float("nan"))
        with pytest.raises(InvalidArgument, match="stratum"):
            trial.assign("p", stratum="men")
        with pytest.raises(ServiceError, match="may not do that"):
            trial.report()
    for key, name, said in (("wrong", "exp", "key"), (served.site, "none", "no such thing")):
        with Client(served.url, key, name) as other, pytest.raises(ServiceError, match=said):
            other.assign("p")


def test_a_bad_outcome_does_not_hold_up_the_others(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    served.plan(deadline="1 day")
    with Client(served.url, served.site, "exp", every=100.0) as trial:
        trial.assign_many(["p", "q"])
        trial.record_many([("p", 73571.25), ("q", 1.0)])
        trial.flush()
        assert trial.waiting == 0
    assert "refused what was recorded" in caplog.text
    assert "73571" not in "".join(r.getMessage() for r in caplog.records if "discreet" in r.name)
    assert served.answered() == 1


def test_a_fallback_is_kept_and_its_outcomes_are_not_sent() -> None:
    with Client(NOWHERE, "key", "exp", fallback="A", timeout=0.3) as trial:
        assert trial.assign("p") == "A"
        trial.record("p", 1.0)
        assert trial.waiting == 0
        with pytest.raises(ServiceError, match="did not answer"):
            trial.report()
    with (
        Client(NOWHERE, "key", "exp", timeout=0.1) as trial,
        pytest.raises(ServiceError, match="did not answer"),
    ):
        trial.assign("p")


def test_outcomes_wait_for_a_service_that_is_away(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as served:
        served.plan(deadline="1 day")
        port, site = served.http.base_url.port, served.site
        trial = Client(served.url, site, "exp", every=0.05, timeout=0.2)
        arm = trial.assign("p")
    trial.record("p", 1.0)
    time.sleep(0.5)
    assert trial.waiting == 1
    with serving(tmp_path / "data", port=port or 0) as again:
        again.until(lambda: trial.waiting == 0)
        assert trial.assign("p") == arm
        trial.close()
        assert again.answered() == 1


def test_a_restart_in_the_middle(tmp_path: Path) -> None:
    """Participants come while the service stops and starts: everybody has one arm, the one that
    the service knows, and all outcomes arrive."""
    arms: dict[str, Any] = {}
    refused: list[Exception] = []
    stop = threading.Event()

    def come(trial: Client, name: str) -> None:
        number = 0
        while not stop.is_set():
            unit = f"{name}-{number}"
            try:
                arms[unit] = trial.assign(unit)
                trial.record(unit, 1.0)
            except Exception as error:
                refused.append(error)
            number += 1

    with serving(tmp_path / "data") as served:
        served.plan(deadline="1 day")
        port, site = served.http.base_url.port or 0, served.site
        trial = Client(served.url, site, "exp", every=0.05, timeout=20.0)
        threads = [threading.Thread(target=come, args=(trial, f"t{i}")) for i in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
    before = len(arms)
    with serving(tmp_path / "data", port=port) as again:
        time.sleep(0.7)
        stop.set()
        for thread in threads:
            thread.join(30.0)
        again.until(lambda: trial.waiting == 0)
        trial.close()
        assert not refused
        assert len(arms) > before > 0
        again.site = site
        found = again.post("/v1/experiments/exp/assign/batch",
                           {"units": [{"unit": unit} for unit in list(arms)[:1000]]},
                           site)["assigned"]  # fmt: skip
        assert [one["arm"] for one in found] == list(arms.values())[:1000]
        assert again.answered() == len(arms)
        counts = Counter(arms.values())
        assert again.get("/v1/experiments/exp/report")["assigned"] == sum(counts.values())
