"""Arrays of any framework on the command line, and audits of other models than the default one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive_gradients import covariance_scores
from typer.testing import CliRunner

from discreet.cli import app

Arrays = dict[str, np.ndarray]


@pytest.fixture
def arrays() -> Arrays:
    """References, a canary per step and what was seen, of three parameters."""
    rng = np.random.default_rng(8)
    return {
        "references": rng.normal(size=(40, 3)),
        "canary": rng.normal(size=(6, 3)),
        "updates": rng.normal(size=(6, 3)) / 2.0,
    }


@pytest.fixture
def score(arrays: Arrays, tmp_path: Path) -> Callable[..., Any]:
    """Run the command on the arrays, some of them changed."""

    def run(*arguments: str, **changed: Any) -> Any:
        options = []
        for name, array in (arrays | changed).items():
            if array is not None:
                np.save(tmp_path / f"{name}.npy", array)
                options += [f"--{name}", str(tmp_path / f"{name}.npy")]
        return CliRunner().invoke(
            app, ["membership", "gradients", "score", *options, *arguments], prog_name="discreet"
        )

    return run


def test_scores_of_arrays(arrays: Arrays, score: Callable[..., Any]) -> None:
    result = score("--batch", "4", "--ridge", "0.1", "--sampling", "0.2", "--json")
    found = json.loads(result.stdout)
    references, canary, updates = arrays.values()
    twin = covariance_scores(references, canary, updates, 4, 0.1)
    assert found["steps"] == 6
    assert found["scores"]["covariance, sum"] == pytest.approx(sum(twin))
    assert found["scores"]["covariance, max"] == pytest.approx(max(twin))
    poisson = sum(np.log(0.8 + 0.2 * np.exp(s)) for s in twin)
    assert found["scores"]["covariance, poisson"] == pytest.approx(poisson)
    product = float((arrays["canary"] * arrays["updates"]).sum())
    assert found["scores"]["scalar product, sum"] == pytest.approx(product)
    assert np.isfinite(found["scores"]["GLiR, sum"])
    assert "covariance, centred sum" in score().stdout


def test_parameters_give_the_same_scores(arrays: Arrays, score: Callable[..., Any]) -> None:
    """Descent: θ' = θ - η g, so the gradient is (θ - θ')/η."""
    path = np.concatenate([np.zeros((1, 3)), -0.5 * np.cumsum(arrays["updates"], axis=0)])
    plain = json.loads(score("--json").stdout)
    again = json.loads(score("--rate", "0.5", "--json", updates=None, parameters=path).stdout)
    assert again["scores"] == pytest.approx(plain["scores"])


@pytest.mark.parametrize(
    ("arguments", "changed", "message"),
    [
        ((), {"updates": None}, "updates must be given, or else parameters with their rate"),
        (("--rate", "1"), {}, "updates must be given, or else parameters with their rate"),
        ((), {"updates": np.zeros((6, 2))}, "updates must be one row of 3 finite numbers"),
        ((), {"canary": np.full(3, np.nan)}, "canary must be 3 finite numbers"),
        ((), {"canary": np.array(["a"])}, "canary must be one array of real numbers"),
        ((), {"references": np.zeros(3)}, "references must be one vector of numbers per point"),
        (("--classes", "2"), {}, "classes must divide the 3 values"),
        (("--batch", "0"), {}, "batch must be a whole number from 1"),
        (("--sampling", "2"), {}, "sampling must be the rate"),
    ],
)
def test_bad_arrays_are_refused(
    score: Callable[..., Any], arguments: tuple[str, ...], changed: Any, message: str
) -> None:
    result = score(*arguments, **changed)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_file_that_is_no_array_is_refused(tmp_path: Path, score: Callable[..., Any]) -> None:
    (tmp_path / "own.npy").write_text("1,2,3")
    result = score("--updates", str(tmp_path / "own.npy"), updates=None)
    assert result.exit_code == 2
    assert "updates must be a readable .npy file of numbers" in result.stderr


def test_a_net_is_audited() -> None:
    arguments = "--data sample-net --points 6 --steps 2 --runs 6 --canaries 20 --noise 2 --json"
    result = CliRunner().invoke(app, ["membership", "gradients", "audit", *arguments.split()])
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert len(found["lines"]) == 6
    assert found["violation"] is False
