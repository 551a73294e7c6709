"""The programs of docs/recipes.md and docs/stores.md, run as printed."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.live import Trial

DOCS = Path(__file__).parent.parent.parent / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"in `(\w+\.py)`")


def programs(page: str) -> dict[str, str]:
    """Of a page, the programs whose name stands before them."""
    text = (DOCS / page).read_text()
    found: dict[str, str] = {}
    for block in BLOCK.finditer(text):
        names = NAMED.findall(text[: block.start()])
        if block[1] == "py" and names:
            found.setdefault(names[-1], block[2])
    return found


def commands(section: str) -> list[str]:
    """What is typed there."""
    text = (DOCS / "recipes.md").read_text().partition(f"\n## {section}\n")[2]
    code: str = next(code for kind, code in BLOCK.findall(text) if kind == "sh")
    return code.splitlines()


@contextmanager
def running(command: str, folder: Path) -> Iterator[None]:
    """A process and its children, ended at the end."""
    words = shlex.split(command)
    words[:1] = [sys.executable] if words[0] == "python" else [sys.executable, "-m", words[0]]
    with (folder / "errors").open("ab") as errors:
        process = subprocess.Popen(
            words, cwd=folder, start_new_session=True, stdout=subprocess.DEVNULL, stderr=errors
        )
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def asked(port: int, path: str, body: object = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def until_up(port: int) -> None:
    for _ in range(200):
        with suppress(OSError):
            asked(port, "/report")
            return
        time.sleep(0.1)
    raise AssertionError("the server does not answer")


@pytest.mark.skipif(sys.platform == "win32", reason="gunicorn")
@pytest.mark.parametrize("section", ["Flask", "FastAPI"])
def test_four_web_workers_share_a_trial(section: str, tmp_path: Path) -> None:
    for name, text in programs("recipes.md").items():
        (tmp_path / name).write_text(text)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start, curator, server = commands(section)
    with running(start, tmp_path):
        for _ in range(300):
            if (tmp_path / "trial.db.witness").exists():
                break
            time.sleep(0.1)
        time.sleep(0.5)
    with running(curator, tmp_path), running(server.replace("8000", str(port)), tmp_path):
        until_up(port)

        def visit(number: int) -> tuple[str, int, Any, int]:
            name = f"visitor-{number % 40}"
            status, body = asked(port, "/assign", {"visitor": name})
            told = 0
            if status == 200 and number % 2:
                told, _ = asked(port, "/outcomes", {"visitor": name, "outcome": 1.0})
            return name, status, body, told

        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(visit, range(80)))
        arms: dict[str, str] = {}
        for name, status, body, told in found:
            assert status == 200, (body, (tmp_path / "errors").read_text()[-2000:])
            assert told in (0, 202)
            assert arms.setdefault(name, body["arm"]) == body["arm"]
        assert asked(port, "/outcomes", {"visitor": "nobody", "outcome": 1.0})[0] == 400
        until = time.monotonic() + 30.0
        while asked(port, "/report")[1]["releases"] == 0 and time.monotonic() < until:
            time.sleep(0.2)
        report = asked(port, "/report")[1]
        assert report["releases"] > 0
        assert report["assigned"] == 40
    with Trial.load(tmp_path / "trial.db") as trial:
        assert {name: trial.assign(name) for name in arms} == arms


def test_the_page_on_stores_runs_on_a_server(url: str) -> None:
    blocks = [
        code for kind, code in BLOCK.findall((DOCS / "stores.md").read_text()) if kind == "py"
    ]
    names: dict[str, Any] = {}
    with psycopg.connect(url, autocommit=True) as owner:
        for role in ("web", "curator"):
            owner.execute(f"CREATE ROLE {role}")
        try:
            for code in blocks:
                exec(code.replace("postgresql://localhost/trials", url), names)
            names["trial"].close()
        finally:
            for role in ("web", "curator"):
                owner.execute(f"DROP OWNED BY {role}")
                owner.execute(f"DROP ROLE {role}")
    assert len(blocks) == 2
