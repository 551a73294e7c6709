"""Several processes on one PostgreSQL database, as on several hosts."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hosts import PLAN, E, Hosts, storm

from discreet.errors import DamagedFile
from discreet.serve._register import Register
from discreet.serve._secrets import Secrets
from postgres import Postgres, needed, running

KILLS = int(os.environ.get("DISCREET_HTTP_KILLS", "2"))


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    needed()
    with running() as found:
        yield found


def test_each_process_does_its_part(server: Postgres, tmp_path: Path) -> None:
    with Hosts(tmp_path, server.database()) as hosts, httpx.Client(trust_env=False) as http:
        hosts.plan({**PLAN, "window": None, "first": 2})
        one, two = (host.url for host in hosts.webs)
        told = [
            http.post(f"{url}{E}/assign", json={"unit": unit}, headers=hosts.site).json()["arm"]
            for unit, url in (("a", one), ("b", two), ("a", two), ("b", one))
        ]
        assert told[:2] == told[2:]  # wherever somebody asks
        said = http.post(f"{two}{E}/outcomes", json={"unit": "a", "outcome": 1}, headers=hosts.site)
        assert said.status_code == 202
        elsewhere = [
            http.post(f"{one}{E}/stop", json={"by": "x"}, headers=hosts.admin),
            http.post(f"{hosts.curator.url}{E}/assign", json={"unit": "a"}, headers=hosts.site),
        ]
        assert [found.status_code for found in elsewhere] == [421, 421]
        made = http.post(f"{one}/v1/keys", json={"role": "monitor"}, headers=hosts.admin).json()
        late = {"authorization": f"Bearer {made['key']}"}
        assert http.get(f"{two}{E}/report", headers=late).status_code == 200  # known at once

        hosts.curator.end(signal.SIGTERM)
        time.sleep(1.2)  # the deadline of a and b; their block is due, or will be
        begun, found = 0.0, None
        for number in range(8):
            begun = time.monotonic()
            found = http.post(
                f"{one}{E}/assign", json={"unit": f"n{number}"}, headers=hosts.site, timeout=20.0
            )
            if found.status_code != 200:
                break
        else:
            time.sleep(1.2)
            begun = time.monotonic()
            found = http.post(
                f"{one}{E}/assign", json={"unit": "last"}, headers=hosts.site, timeout=20.0
            )
        assert found is not None
        assert found.status_code == 503
        assert "retry-after" in found.headers
        assert time.monotonic() - begun >= 2.0  # at least: newcomers wait for a release
        known = http.post(f"{two}{E}/assign", json={"unit": "a"}, headers=hosts.site)
        assert known.json()["arm"] == told[0]  # others do not
        hosts.curator.start()
        hosts.curator.wait()
        for _ in range(30):  # a busy machine may release after the newcomer has given up
            late_one = http.post(
                f"{one}{E}/assign", json={"unit": "last"}, headers=hosts.site, timeout=20.0
            )
            if late_one.status_code != 503:
                break
        assert late_one.status_code == 200


def test_a_storm_over_http(server: Postgres, tmp_path: Path) -> None:
    """DISCREET_HTTP_KILLS=500 for the long one."""
    found = storm(tmp_path, server.database(), KILLS)
    assert found.releases > 0
    assert found.recorded > 0


def test_another_file_of_secrets_is_refused(server: Postgres, tmp_path: Path) -> None:
    url = server.database()
    for name in ("one", "two"):
        (tmp_path / name).mkdir(mode=0o700)
    first = Register(tmp_path / "one", Secrets(tmp_path / "one"), url)
    first.add_tenant("default")
    first.close()
    with pytest.raises(DamagedFile, match="copy it from a host"):
        Register(tmp_path / "two", Secrets(tmp_path / "two"), url)
