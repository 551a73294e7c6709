"""A storm over HTTP: two processes that assign and record, one that releases, on one database.

Each is a process of its own with a data folder of its own, as on three hosts; they are killed and
started again at random. Noise is one known number and every outcome is 1, so that a release says
how many outcomes it has counted. The checker compares what clients were told with what is stored.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from discreet.live import Trial
from discreet.live.stores import PostgresStore
from discreet.serve._keys import new_key
from discreet.serve._register import Register
from discreet.serve._secrets import NAME, Secrets

NOISE = 1_000_003
STEPS = 1 << 20
"""What an outcome of 1 is in a sum."""
DEADLINE = 1.0
PLAN: dict[str, Any] = {
    "id": "storm", "policy": "dp-imed", "epsilon": 1.0, "first": 2, "ratio": 1.001,
    "arms": ["A", "B"], "deadline": f"{DEADLINE} s", "missing": 0.0, "window": 4,
}  # fmt: skip
E = "/v1/experiments/storm"


def known_noise() -> None:
    """For this process."""
    from discreet.live import _course as course
    from discreet.privacy import _secure as secure

    secure.laplace = lambda scale, rng=None: NOISE  # type: ignore[assignment]
    secure.padded = lambda environment, draw, number: draw(number)  # type: ignore[assignment]
    secure.AHEAD = 1
    course.MOST = 1 << 30


def free_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as there:
        there.bind(("127.0.0.1", 0))
        return int(there.getsockname()[1])


class Host:
    """A process of the service, which can be killed and started again."""

    def __init__(self, folder: Path, url: str, role: str) -> None:
        self.folder, self._database, self.role = folder, url, role
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process."""
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(self.folder), str(self.port), self.role],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "DISCREET_DATABASE": self._database},
        )  # fmt: skip

    def wait(self) -> None:
        """Until it is ready."""
        until = time.monotonic() + 60.0
        while time.monotonic() < until:
            with suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/readyz", trust_env=False).status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(f"{self.role} is not ready")

    def end(self, how: int = signal.SIGKILL) -> None:
        """End the process."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None


class Hosts:
    """Two that assign and record, and one that releases."""

    def __init__(self, folder: Path, url: str) -> None:
        self.url, first = url, folder / "curator"
        first.mkdir(mode=0o700)
        self.secrets = Secrets(first)
        self.register = Register(first, self.secrets, url)
        self.register.add_tenant("default")
        self.admin, self.site = (self._key(role) for role in ("admin", "site"))
        self.curator = Host(first, url, "curator")
        self.webs = []
        for name in ("one", "two"):
            (folder / name).mkdir(mode=0o700)
            shutil.copy2(first / NAME, folder / name)
            self.webs.append(Host(folder / name, url, "web"))
        self.all = [self.curator, *self.webs]

    def _key(self, role: str) -> dict[str, str]:
        token, row = new_key(self.secrets, "default", role)
        self.register.add_key(row, "test")
        return {"authorization": f"Bearer {token}"}

    def __enter__(self) -> Hosts:
        for host in self.all:
            host.start()
        for host in self.all:
            host.wait()
        return self

    def __exit__(self, *error: object) -> None:
        for host in self.all:
            host.end()
        self.register.close()

    def plan(self, document: dict[str, Any]) -> None:
        """An experiment that takes participants."""
        with httpx.Client(base_url=self.curator.url, trust_env=False, headers=self.admin) as http:
            made = http.post("/v1/experiments", json=document)
            assert made.status_code == 201, made.text
            assert http.post(f"{E}/start", json={}).status_code == 200


class Diary:
    """What clients were told."""

    def __init__(self) -> None:
        self.arms: dict[str, Any] = {}
        self.begun: set[str] = set()
        self.told: dict[str, float] = {}
        self.courses: list[list[Any]] = []
        self.wrong: list[str] = []
        self.refused: Counter[int] = Counter()


def visit(hosts: Hosts, diary: Diary, seed: int, until: threading.Event) -> None:
    """A client that sends participants to either host, and their outcomes to either."""
    world = random.Random(seed)
    with httpx.Client(trust_env=False, headers=hosts.site, timeout=5.0) as http:
        while not until.is_set():
            again = diary.arms and world.random() < 0.2
            unit = world.choice(list(diary.arms)) if again else f"p{world.randrange(1 << 40)}"
            with suppress(httpx.TransportError):
                found = http.post(f"{world.choice(hosts.webs).url}{E}/assign", json={"unit": unit})
                if found.status_code != 200:
                    diary.refused[found.status_code] += 1
                    continue
                arm = found.json()["arm"]
                if diary.arms.setdefault(unit, arm) != arm:
                    diary.wrong.append(f"{unit} has two arms")
                if world.random() < 0.8:
                    diary.begun.add(unit)
                    said = http.post(
                        f"{world.choice(hosts.webs).url}{E}/outcomes",
                        json={"unit": unit, "outcome": 1.0},
                    )
                    if said.status_code == 202:
                        diary.told.setdefault(unit, time.time())


def watch(hosts: Hosts, diary: Diary, until: threading.Event) -> None:
    """Somebody who looks at what was released."""
    with httpx.Client(trust_env=False, headers=hosts.admin, timeout=5.0) as http:
        while not until.is_set():
            for host in hosts.all:
                with suppress(httpx.TransportError):
                    found = http.get(f"{host.url}{E}/report")
                    if found.status_code == 200:
                        diary.courses.append(found.json()["course"])
            time.sleep(0.2)


class Found(NamedTuple):
    """What a storm has seen."""

    kills: int
    assigned: int
    recorded: int
    releases: int


def storm(folder: Path, url: str, kills: int, seed: int = 1) -> Found:
    """Kill processes at random while clients come; check what is left."""
    world, diary, until = random.Random(seed), Diary(), threading.Event()
    with Hosts(folder, url) as hosts:
        hosts.plan(PLAN)
        threads = [
            threading.Thread(target=visit, args=(hosts, diary, number, until))
            for number in range(4)
        ]
        threads.append(threading.Thread(target=watch, args=(hosts, diary, until)))
        for thread in threads:
            thread.start()
        for _ in range(kills):
            time.sleep(world.uniform(0.3, 0.8))
            host = world.choice(hosts.all)
            host.end()
            host.start()
            host.wait()
        time.sleep(1.0)
        until.set()
        for thread in threads:
            thread.join(30.0)
    return check(url, hosts, diary, kills)


def check(url: str, hosts: Hosts, diary: Diary, kills: int) -> Found:
    """Nobody has two arms; a release is one value for ever; no block was drawn twice; whoever was
    told in time that an outcome is recorded is counted."""
    assert diary.wrong == []
    known_noise()
    time.sleep(1.5 * DEADLINE)
    trial = Trial.load(PostgresStore(url, "default/storm"))
    trial.settle()
    assert trial.status == "collecting", trial.status
    final = json.loads(json.dumps(trial.report()["course"]))
    for course in diary.courses:
        assert final[: len(course)] == course, "a release has changed"
    names = {unit: hosts.secrets.pseudonym("default", unit) for unit in diary.arms}
    for unit, arm in diary.arms.items():
        assert trial.assign(names[unit]) == arm, "somebody has another arm now"
    store: Any = trial._store
    with store.held():
        store.ready()
        run = store._base.run
        rows = run(
            "SELECT unit, block, at FROM places WHERE trial = ? AND block IS NOT NULL",
            (store._trial,),
        ).fetchall()
        released = [block for (block,) in run("SELECT block FROM releases").fetchall()]
        lines = run("SELECT text FROM discreet_witness.lines").fetchall()
    witnessed = [block for (text,) in lines if (block := _block(text)) is not None]
    assert max(Counter(witnessed).values(), default=0) <= 1, "a block was drawn twice"
    assert sorted(released) == sorted(witnessed), "stored is not what was witnessed"
    told = {names[unit]: at for unit, at in diary.told.items()}
    begun = {names[unit] for unit in diary.begun}
    in_time: Counter[str] = Counter()
    at_most: Counter[str] = Counter()
    for text, block, at in rows:
        unit = json.loads(text)
        in_time[block] += unit in told and told[unit] < at + DEADLINE
        at_most[block] += unit in begun
    counted = _counted(trial)
    for block in released:
        assert in_time[block] <= counted[block] <= at_most[block], "an outcome is lost"
    trial.close()
    return Found(kills, len(diary.arms), len(diary.told), len(released))


def _block(text: str | bytes) -> str | None:
    found: str | None = json.loads(text).get("block")
    return found


def _counted(trial: Trial) -> dict[str, int]:
    """How many outcomes each release has counted: the course has running sums of every arm."""
    found: dict[str, int] = {}
    seen: Counter[int] = Counter()
    before: Counter[int] = Counter()
    for entry in trial.report()["course"]:
        arm = trial.arms.index(entry["arm"])
        seen[arm] += 1
        total = round((entry["mean"] or 0.0) * entry["size"] * STEPS) - seen[arm] * NOISE
        count = (total - before[arm]) / STEPS
        assert abs(count - round(count)) < 1e-3, "not a sum of outcomes"
        found[f"{arm}-{seen[arm]}"], before[arm] = round(count), total
    return found


def main() -> None:
    """A process of the storm."""
    from discreet.serve._run import serve

    known_noise()
    folder, port, role = sys.argv[1:]
    serve(Path(folder), port=int(port), database=os.environ["DISCREET_DATABASE"], role=role)


if __name__ == "__main__":
    main()
