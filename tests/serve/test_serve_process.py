"""`discreet serve` as a process: its first words, its keys, its end, its demonstration."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from discreet.client import Client
from discreet.errors import InvalidArgument
from discreet.serve._play import main, running
from discreet.serve._run import check_host

PLAN = {"policy": "dp-imed", "epsilon": 1.0, "arms": ["A", "B"], "deadline": "1 day", "missing": 0}


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "discreet", "serve", *words], text=True,
                          capture_output=True, timeout=60, check=False)  # fmt: skip


def test_a_service_from_the_first_key_to_a_clean_end(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data, 0) as (url, admin):
        with Client(url, admin, "exp") as trial:
            trial.create(PLAN)
            trial.start()
        made = json.loads(command("keys", "new", "--role", "site", "--data", str(data),
                                  "--json").stdout)  # fmt: skip
        site = Client(url, made["key"], "exp", every=100.0, timeout=20.0)
        arm = site.assign("p")
        site.record("p", 1.0)
        busy = command("--data", str(data), "--port", "0")
        assert busy.returncode == 2
        assert "another service runs" in busy.stderr
        taken = command("--data", str(tmp_path / "other"), "--port", url.rpartition(":")[2])
        assert taken.returncode == 2
        assert "port must be free" in taken.stderr
        site.close()
    with running(data, 0) as (url, none):
        assert none == ""  # it is shown once
        with Client(url, made["key"], "exp", timeout=20.0) as again:
            assert again.assign("p") == arm
    listed = command("keys", "list", "--data", str(data)).stdout
    assert made["id"] in listed
    assert made["key"] not in listed
    assert command("keys", "revoke", made["id"], "--data", str(data)).returncode == 0
    assert "revoked" in command("keys", "list", "--data", str(data)).stdout
    wrong = command("keys", "new", "--role", "king", "--data", str(data))
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    none_such = command("keys", "revoke", "0" * 16, "--data", str(data))
    assert none_such.returncode == 2


def test_only_loopback_without_tls() -> None:
    for host in ("127.0.0.1", "::1", "localhost"):
        assert check_host(host, False) == host
    with pytest.raises(InvalidArgument, match="--behind-tls"):
        check_host("0.0.0.0", False)
    assert check_host("0.0.0.0", True)


def test_the_demonstration_runs(tmp_path: Path) -> None:
    with running(tmp_path / "data", 0, "--demo") as (url, admin):
        with Client(url, admin, "demo", timeout=20.0) as trial:
            shown = trial.shown()
            assert shown["simulated"] is True
            assert "Simulated" in shown["title"]
        assert httpx.get(url, trust_env=False).status_code == 200


def test_participants_are_played_over_http(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--once", "--participants", "60", "--port", "0"]) == 0
    said = capsys.readouterr().out
    assert "60 participants" in said
    assert "Look at http://127.0.0.1:" in said
