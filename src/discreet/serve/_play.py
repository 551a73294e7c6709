"""Start a service, play participants over HTTP, and say where to look: `make serve-demo`.

The participants are simulated; the service is not.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from ..client import AsyncClient, Client
from ..errors import ServiceError
from ._demo import ANSWERS, RATES

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "played"
PLAN = {
    "title": "Simulated participants: no real person is in this experiment",
    "policy": "dp-imed", "epsilon": 1.0, "ratio": 1.5, "arms": list(RATES), "deadline": "2 s",
    "missing": 0.0,
}  # fmt: skip
AT_ONCE = 50


@contextmanager
def running(data: str | Path, port: int = 0, *more: str) -> Iterator[tuple[str, str]]:
    """A service in a process of its own, which ends with the block: its address, and the key of
    its first administrator. Port 0 is a free one; `more` are further options of the command."""
    command = [sys.executable, "-m", "discreet", "serve", "--data", str(data), "--port", str(port)]
    process = subprocess.Popen(
        [*command, *more], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        start_new_session=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        key = url = ""
        for line in process.stdout:
            key = key or _found(r"shown this once: (dk_\w+)", line)
            url = _found(r"page: (http\S+)/$", line)
            if url:
                break
        if not url:
            raise ServiceError("the service did not start; run discreet serve to see why")
        _wait_until_ready(url)
        yield url, key
    finally:
        process.send_signal(signal.SIGTERM)
        process.stdout.close()
        process.wait(30)


def _found(pattern: str, line: str) -> str:
    found = re.search(pattern, line.strip())
    return found[1] if found else ""


def _wait_until_ready(url: str) -> None:
    until = time.monotonic() + 30.0
    while time.monotonic() < until:
        try:
            if httpx.get(f"{url}/readyz", trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise ServiceError("the service is not ready after 30 seconds")


async def play(url: str, key: str, participants: int, seed: int, step: _Step) -> None:
    """Participants who come, get an arm, and mostly answer."""
    world, gate = random.Random(seed), asyncio.Semaphore(AT_ONCE)
    async with AsyncClient(url, key, NAME, every=0.25) as trial:

        async def one(unit: str, answers: bool, luck: float) -> None:
            async with gate:
                arm = str(await trial.assign(unit))
                if answers:
                    trial.record(unit, float(luck < RATES[arm]))
                step()

        async with asyncio.TaskGroup() as group:
            for number in range(participants):
                group.create_task(
                    one(f"participant-{number}", world.random() < ANSWERS, world.random())
                )


class _Step:
    """A step of the progress bar."""

    def __call__(self) -> None:
        """One participant more."""


def _made(url: str, admin: str) -> str:
    """The experiment, started; the key of a site for it."""
    with Client(url, admin, NAME) as trial:
        trial.create(PLAN)
        trial.start()
    made = httpx.post(
        f"{url}/v1/keys", headers={"authorization": f"Bearer {admin}"}, trust_env=False,
        json={"role": "site", "experiment": NAME, "label": "simulated"},
    )  # fmt: skip
    made.raise_for_status()
    return str(made.json()["key"])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m discreet.serve._play", description=__doc__)
    parser.add_argument("--participants", type=int, default=2_000)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=1, help="of the participants")
    parser.add_argument("--once", action="store_true", help="stop when all have been played")
    asked = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
            _play(Path(folder), asked)
    except KeyboardInterrupt:
        print("Stopped.")
    return 0


def _play(folder: Path, asked: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    console = Console(highlight=False, soft_wrap=True)
    with running(folder, asked.port) as (url, admin):
        site = _made(url, admin)
        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
            task = bar.add_task("", total=asked.participants)

            class Step(_Step):
                def __call__(self) -> None:
                    bar.advance(task)

            asyncio.run(play(url, site, asked.participants, asked.seed, Step()))
        time.sleep(2.5)  # until the deadline of the last participant has passed
        with Client(url, admin, NAME) as trial:
            report = trial.report()
        console.print(f"{report['assigned']} participants, {report['releases']} releases:")
        for row in report["arms"]:
            mean = "-" if row["mean"] is None else f"{row['mean']:.3f}"
            console.print(f"  {row['arm']}: {row['assigned']} assigned, mean {mean}")
        console.print(f"Look at {url}/ and {url}/v1/experiments/{NAME}/report")
        console.print(f"with the header Authorization: Bearer {admin}")
        if not asked.once:
            console.print("Ctrl-C stops the service.")
            signal.pause()


if __name__ == "__main__":
    sys.exit(main())
