"""What a pair of requests, an assignment and its outcome, costs a service.

    python benchmarks/serve.py [--pairs 20000] [--connections 64] [--waiting 1000]

Three servers, one after the other, get the same requests from a client of plain sockets: `discreet
serve` on SQLite; the same server with a bare route that reads JSON and answers it; and once more
the service with its pairs spread over 100 experiments. Printed are the processor time of the server
process for a pair, its ratio to the bare route, pairs a second, and p50 and p99 of an assignment.

`--waiting` asks instead whether waiting tells that somebody has answered: how well the duration of
an assignment tells apart whether an outcome was sent just before it (AUC; one half is chance).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from discreet.serve._play import running

BARE = """
import msgspec, socket, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

async def bare(request):
    found = msgspec.json.decode(await request.body())
    return Response(msgspec.json.encode({"unit": found["unit"]}), 200, {}, "application/json")

there = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
there.bind(("127.0.0.1", 0))
there.listen(2048)
print(there.getsockname()[1], flush=True)
routes = [Route("/v1/experiments/{experiment}/" + name, bare, methods=["POST"])
          for name in ("assign", "outcomes")]
config = uvicorn.Config(Starlette(routes=routes), access_log=False, log_level="warning",
                        server_header=False)
uvicorn.Server(config).run(sockets=[there])
"""


class Found(NamedTuple):
    """What one run showed."""

    processor: float
    """microseconds of the server for a pair"""
    rate: float
    """pairs a second"""
    p50: float
    p99: float
    """milliseconds of an assignment"""


class Connection:
    """A kept connection, and requests on it."""

    def __init__(self, port: int, key: str) -> None:
        self._port, self._key = port, key

    async def open(self) -> None:
        self._read, self._write = await asyncio.open_connection("127.0.0.1", self._port)

    async def post(self, path: str, body: object) -> int:
        text = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {self._key}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(text)}\r\n\r\n"
        )
        self._write.write(head.encode() + text)
        lines = (await self._read.readuntil(b"\r\n\r\n")).split(b"\r\n")
        size = next(
            int(line.split(b":")[1])
            for line in lines
            if line.lower().startswith(b"content-length:")
        )
        await self._read.readexactly(size)
        return int(lines[0].split()[1])


async def load(
    port: int, key: str, names: list[str], pairs: int, connections: int, first: int = 0
) -> list[float]:
    """Play pairs on as many connections; how long each assignment took."""
    waits: list[float] = []
    numbers = iter(range(first, first + pairs))

    async def one() -> None:
        link = Connection(port, key)
        await link.open()
        for number in numbers:
            unit, path = f"unit-{number}", f"/v1/experiments/{names[number % len(names)]}"
            begun = time.perf_counter()
            assert await link.post(f"{path}/assign", {"unit": unit}) == 200
            waits.append(time.perf_counter() - begun)
            status = await link.post(f"{path}/outcomes", {"unit": unit, "outcome": number % 2})
            assert status in (200, 202)

    await asyncio.gather(*(one() for _ in range(connections)))
    return waits


async def waits(port: int, key: str, rounds: int) -> list[tuple[bool, float]]:
    """Whether somebody answered just before, and how long an observer waited."""
    watcher, other, world = Connection(port, key), Connection(port, key), random.Random(1)
    await watcher.open()
    await other.open()
    path, found = "/v1/experiments/e0", []
    for number in range(rounds):
        await watcher.post(f"{path}/assign", {"unit": f"w{number}"})
        await asyncio.sleep(world.random() * 0.03)
        answers = world.random() < 0.5
        said = None
        if answers:
            body = {"unit": f"w{number}", "outcome": 1}
            said = asyncio.create_task(other.post(f"{path}/outcomes", body))
            await asyncio.sleep(0)
        begun = time.perf_counter()
        await watcher.post(f"{path}/assign", {"unit": "w0"})
        found.append((answers, time.perf_counter() - begun))
        if said is not None:
            await said
    return found


def auc(found: list[tuple[bool, float]]) -> float:
    """How often a wait with an answer was longer than one without."""
    ranked = sorted(found, key=lambda one: one[1])
    ranks = sum(rank for rank, (answered, _) in enumerate(ranked, 1) if answered)
    ones = sum(answered for answered, _ in found)
    return (ranks - ones * (ones + 1) / 2) / (ones * (len(found) - ones))


def processor(pid: int) -> float:
    """Seconds of processor time of a process so far."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def measured(
    pid: int, port: int, key: str, names: list[str], pairs: int, connections: int
) -> Found:
    asyncio.run(load(port, key, names, min(500, pairs), 8))  # warm
    before, begun = processor(pid), time.perf_counter()
    waits = sorted(asyncio.run(load(port, key, names, pairs, connections, 500)))
    lasted, used = time.perf_counter() - begun, processor(pid) - before
    return Found(
        1e6 * used / pairs, pairs / lasted, 1e3 * waits[len(waits) // 2],
        1e3 * waits[int(0.99 * len(waits))],
    )  # fmt: skip


@contextmanager
def bare() -> Iterator[tuple[int, int]]:
    """The bare server: its process and its port."""
    process = subprocess.Popen([sys.executable, "-c", BARE], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = int(process.stdout.readline())
    time.sleep(1.0)
    try:
        yield process.pid, port
    finally:
        process.terminate()
        process.wait()


@contextmanager
def service(experiments: int) -> Iterator[tuple[int, str, list[str]]]:
    """The service, with so many experiments: its port, a key, and their ids."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), 0) as (url, admin):
        headers = {"authorization": f"Bearer {admin}"}
        names = [f"e{number}" for number in range(experiments)]
        with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=60.0) as http:
            for name in names:
                plan = {"id": name, "policy": "dp-imed", "epsilon": 1.0, "arms": ["A", "B"],
                        "deadline": "1 day", "missing": 0.0, "ratio": 1.5}  # fmt: skip
                http.post("/v1/experiments", json=plan).raise_for_status()
                http.post(f"/v1/experiments/{name}/start", json={}).raise_for_status()
            key = http.post("/v1/keys", json={"role": "site"}).json()["key"]
        port = int(url.rpartition(":")[2])
        yield port, key, names


def process_of(port: int) -> int:
    """Which process listens there."""
    wanted = f"{port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    inodes = {
        line.split()[9] for line in lines
        if line.split()[1].endswith(f":{wanted}") and line.split()[3] == "0A"
    }  # fmt: skip
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            links = [os.readlink(link) for link in (entry / "fd").iterdir()]
        except OSError:
            continue
        if any(link in {f"socket:[{inode}]" for inode in inodes} for link in links):
            return int(entry.name)
    raise SystemExit("the server is not found")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--waiting", type=int, default=0)
    asked = parser.parse_args()
    if asked.waiting:
        with service(1) as (port, key, _):
            found = asyncio.run(waits(port, key, asked.waiting))
        error = (len(found) / 12) ** 0.5 * 2 / len(found)
        print(f"AUC {auc(found):.3f} ± {2 * error:.3f} (two standard errors), {len(found)} waits")
        return
    with bare() as (pid, port):
        plain = measured(pid, port, "x", ["e0"], asked.pairs, asked.connections)
    runs = {"bare route": plain}
    for experiments in (1, 100):
        with service(experiments) as (port, key, names):
            runs[f"service, {experiments} experiments"] = measured(
                process_of(port), port, key, names, asked.pairs, asked.connections
            )
    print(f"{'':<26}{'µs a pair':>10}{'ratio':>8}{'pairs/s':>10}{'p50 ms':>9}{'p99 ms':>9}")
    for name, run in runs.items():
        ratio = run.processor / plain.processor
        print(
            f"{name:<26}{run.processor:>10.0f}{ratio:>8.2f}{run.rate:>10.0f}"
            f"{run.p50:>9.1f}{run.p99:>9.1f}"
        )


if __name__ == "__main__":
    main()
