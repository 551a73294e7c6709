"""Games of one epoch on the shipped images, the study's figures, and the command line."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import InvalidArgument
from discreet.membership.gradients import Epoch, SoftmaxRegression, sample_experiment
from discreet.membership.gradients._epochs import EMPIRICAL, LOG_MEAN_EXP, PRINTED, SCALAR, SUM
from discreet.membership.gradients._experiments import SAMPLE
from discreet.studies import Size, Verdict, figure
from discreet.studies._files import save
from discreet.studies.thesis2024._epochs import scores_in


@pytest.fixture(scope="module")
def found() -> Any:
    return sample_experiment().play(24, seed=1, threads=2)


def test_the_easiest_image_is_traced_and_the_scalar_product_is_not_as_good(found: Any) -> None:
    """24 games per side, seed fixed; AUC 1 for the ratio of the easiest (m = 200). An AUC above .95
    has probability below 1e-6 for a blind attack (all but 5 % of 576 pairs ordered)."""
    assert found["easiest", LOG_MEAN_EXP].auc > 0.99
    assert found["easiest", SUM].auc > 0.9
    assert found["easiest", SUM].auc > found["hardest", SUM].auc
    assert found["easiest", LOG_MEAN_EXP].auc > found["easiest", SCALAR].auc
    assert found["easiest", EMPIRICAL].auc > 0.99


def test_a_seed_fixes_every_score(found: Any) -> None:
    again = sample_experiment().play(24, seed=1, threads=1)
    for key, scores in found.items():
        assert np.array_equal(scores.members, again[key].members)
        assert np.array_equal(scores.nonmembers, again[key].nonmembers)


def test_parts_are_disjoint() -> None:
    experiment = sample_experiment()
    rows = {row.tobytes() for row in experiment.game.x}
    for x, _ in experiment.targets.values():
        assert x.tobytes() not in rows
    assert len(experiment.game.x) == 2500 - SAMPLE.references - SAMPLE.fresh - 3
    assert experiment.leakage["easiest"] > experiment.leakage["median"]
    assert experiment.leakage["median"] > experiment.leakage["hardest"]


def test_algorithm_13_as_printed() -> None:
    """References and targets among the points that are trained on; Σ over the steps of
    (g* - μ̂)'Ĉ⁻¹(g - μ̂) - |g* - μ̂|²/(2B), Ĉ about 0, μ̂ and Ĉ those of θ_0."""
    scale = replace(SAMPLE, apart=False, candidates=2_500, size=2_480)
    experiment = sample_experiment(scale=scale)
    assert len(experiment.game.x) == 2_497
    assert experiment.game.steps == 155
    assert experiment.leakage["easiest"] > experiment.leakage["hardest"]
    small = replace(experiment, game=replace(experiment.game, size=64))
    found = small.play(2, seed=3)
    model, matrix = experiment.model, experiment.references.uncentred()
    inverse = np.linalg.pinv(_dense(matrix))
    without = np.random.default_rng(3).spawn(2)[0].spawn(4)[0]
    trace = small.game.run(without)
    x, y = experiment.targets["easiest"]
    score = 0.0
    for theta, update in zip(trace.parameters[:-1], trace.updates, strict=True):
        own = model.layer(theta, x[None], np.array([y])).dense()[0] - matrix.mean
        score += own @ inverse @ (update - matrix.mean) - own @ inverse @ own / (2 * 16)
    assert found["easiest", PRINTED].nonmembers[0] == pytest.approx(score, rel=1e-3)


def _dense(references: Any) -> Any:
    """Ĉ + λI in the coordinates of the gradients, from its factor in contrasts."""
    matrix = references.factor @ references.factor.T
    classes = references.basis.shape[0]
    inputs = references.size // classes
    turn = np.kron(references.basis, np.eye(inputs))
    order = len(matrix)
    assert turn.shape == (references.size, order)
    return turn @ matrix @ turn.T


def test_games_are_sized_by_what_they_must_tell_apart() -> None:
    """Four standard errors by Hanley & McNeil: the simulated error of two AUCs is that or less."""
    from discreet.membership.gradients._prediction import games_needed

    games = games_needed(0.75, 0.55)
    rng = np.random.default_rng(6)
    differences = []
    for _ in range(400):
        found = []
        for auc in (0.75, 0.55):
            shift = math.sqrt(2.0) * float(ndtri(auc))
            inside, outside = rng.normal(shift, 1.0, games), rng.normal(0.0, 1.0, games)
            found.append(float((inside[:, None] > outside).mean()))
        differences.append(found[0] - found[1])
    assert np.std(differences) * 4.0 <= 0.2 * 1.1
    assert games_needed(0.75, 0.7) > games
    with pytest.raises(InvalidArgument, match="easier must be above"):
        games_needed(0.5, 0.6)
    entry = figure("thesis2024", "7.2")
    assert entry.enough(0.75, 0.55, 1000) == games
    assert entry.enough(0.75, 0.55, 10) == entry.enough(0.5, 0.6, 10) == 10


def test_what_two_standard_errors_do_not_tell_is_undecided() -> None:
    from discreet.studies._excerpts import above, as_far_as_told
    from discreet.studies._measures import Measure

    low, high, near = Measure(0.5, 0.03), Measure(0.9, 0.03), Measure(0.55, 0.03)
    assert [above(high, low), above(low, high), above(near, low)] == [True, False, None]
    assert as_far_as_told([True, None]) is Verdict.CANNOT_TELL
    assert as_far_as_told([None]) is Verdict.CANNOT_TELL
    assert as_far_as_told([True, True]) is Verdict.REPRODUCED
    assert as_far_as_told([True, False]) is Verdict.DIFFERS
    assert as_far_as_told([False, None, True, False, False, False]) is Verdict.NOT_REPRODUCED


def test_bad_games_are_refused() -> None:
    model = SoftmaxRegression(4, 3)
    with pytest.raises(InvalidArgument, match="size must lie between a batch and the 10 points"):
        Epoch(model, np.zeros(15), np.zeros((10, 4)), np.zeros(10, int), 10, 4)
    experiment = sample_experiment()
    inside = {"inside": (experiment.game.x[5], 0)}
    with pytest.raises(InvalidArgument, match="targets must not be in the pool"):
        replace(experiment, targets=inside).play(2)
    with pytest.raises(InvalidArgument, match="games must be a whole number from 2"):
        sample_experiment().play(1)
    with pytest.raises(InvalidArgument, match="scale must leave a pool among the 2500 images"):
        sample_experiment(scale=replace(SAMPLE, references=2_400))


def test_figure_7_2_on_the_sample(tmp_path: Path) -> None:
    done = figure("thesis2024", "7.2").run(Size(320, 2), seed=1)
    assert [panel.setting for panel in done.panels[:3]] == [
        f"shipped sample of Fashion-MNIST, linear: {name}"
        for name in ("easiest", "median", "hardest")
    ]
    assert len(done.findings) == 6
    assert {finding.verdict for finding in done.findings} <= set(Verdict)
    folder = save(done, tmp_path)
    assert (folder / "figure.png").stat().st_size > 10_000


def test_figure_7_1_is_a_protocol_that_runs(tmp_path: Path) -> None:
    done = figure("thesis2024", "7.1").run(Size(4, 6), seed=1)
    assert [panel.values["noise"] for panel in done.panels] == [0.5, 2.0]
    assert scores_in(done.panels[0])["quietest Dirac"].auc > 0.6
    save(done, tmp_path)


def call(*arguments: str) -> Any:
    result = CliRunner().invoke(app, ["membership", "gradients", *arguments], prog_name="discreet")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_epoch_on_the_command_line(tmp_path: Path) -> None:
    picture = tmp_path / "roc.png"
    shown = call("epoch", "--games", "4", "--size", "320", "--json", "--plot", str(picture))
    data = json.loads(shown.stdout)
    assert data["steps"] == 20
    assert data["targets"]["easiest"]["attacks"][LOG_MEAN_EXP]["auc"] > 0.7
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "covariance, log-mean-exp" in call("epoch", "--games", "2", "--size", "160").stdout


def test_audit_on_the_command_line() -> None:
    few = ["--runs", "40", "--canaries", "100", "--points", "16", "--steps", "4", "--noise", "2"]
    good = call("audit", *few, "--json")
    assert good.exit_code == 0
    data = json.loads(good.stdout)
    assert len(data["lines"]) == 6
    assert data["violation"] is False
    broken = call("audit", *few, "--actual-noise", "0.2")
    assert broken.exit_code == 1
    assert "violation" in broken.stdout


def test_canaries_on_the_command_line() -> None:
    data = json.loads(call("canaries", "--json").stdout)
    order = [line["canary"] for line in data]
    assert order[0] == "best gradient"
    assert order.index("best Dirac") < order.index("random direction") < order.index("hardest")
    assert {"blank", "mislabelled median", "CANIFE from the median"} <= set(order)


def test_bad_arguments_on_the_command_line() -> None:
    for arguments, message in (
        (["epoch", "--data", "mnist"], "data must be one of sample"),
        (["epoch", "--path", "."], "path must be left out"),
        (["epoch", "--data", "cifar-10", "--path", "/nowhere"], "be the folder of cifar-10"),
        (["epoch", "--full"], "full must be left out: only cifar-10"),
        (["audit", "--noise", "0"], "noise must be above 0"),
        (["audit", "--clip", "-1"], "clip must be a finite number above 0"),
        (["audit", "--points", "2501"], "points must be at most the 2500 images"),
        (["canaries", "--seed", "-1"], "seed must be a whole number from 0"),
    ):
        result = call(*arguments)
        assert result.exit_code == 2
        assert message in result.stderr


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, discreet.membership.gradients;"
        "print([m for m in ('jax', 'scipy.linalg', 'matplotlib', 'PIL') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
