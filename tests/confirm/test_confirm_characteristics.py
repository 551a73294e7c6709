"""Operating characteristics and powers of sizes, in Python and on the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import discreet
from discreet.cli import app
from discreet.confirm import design, operating, power_at, several
from discreet.errors import InvalidArgument


def test_scenarios_are_those_of_the_designs() -> None:
    plan = design(120, looks=2, epsilon=1.0, treated=0.6)
    found = operating({"plan": plan}, 0.3, (0.3, -0.1))
    assert [each.treatment for each in found.scenarios] == pytest.approx([0.2, 0.3, 0.6])
    worse, null, better = found.scenarios
    assert null.is_null
    assert null.rejected == pytest.approx(plan.power(0.3, 0.3))
    assert better.right == pytest.approx(plan.power(0.6, 0.3))
    assert better.participants == pytest.approx(plan.operating(0.6, 0.3).participants)
    # the treatment has six of ten places, and is the worse arm in one scenario alone
    assert better.on_worse == pytest.approx(0.4 * better.participants)
    assert worse.on_worse == pytest.approx(0.6 * worse.participants)
    assert worse.right == pytest.approx(plan.power(0.2, 0.3))
    assert "type I error" in str(found)
    assert "exact" in str(found)


def test_epochs_are_simulated_and_several_arms_exact() -> None:
    adaptive = discreet.confirm.epochs(150, epsilon=2.0, runs=1_000)
    family = several(90, 2, looks=1, epsilon=1.0)
    found = discreet.operating({"epochs": adaptive, "family": family}, 0.3, [0.4], runs=2_000)
    assert [each.exact for each in found.scenarios] == [False, False, True, True]
    assert found.of("epochs")[1].on_worse < 0.5 * found.of("epochs")[1].participants
    assert found.of("family")[1].right == pytest.approx(family.operating((0.7, 0.3), 0.3).each[0])
    assert found.of("family")[0].rejected <= family.bound


def test_policies_strata_and_whoever_comes_after_are_compared_too() -> None:
    """What a trial can run: each against figures of its own."""
    plan = design(200, looks=2, epsilon=2.0)
    sites = discreet.confirm.strata([120, 80], looks=2, epsilon=2.0, runs=500)
    kinds: dict[str, Any] = {
        "after": discreet.confirm.then_winner(plan, 500), "sites": sites,
        "race": discreet.identify.identifier("race", epsilon=2.0),
        "index": discreet.policy("dp-imed", epsilon=2.0),
    }  # fmt: skip
    found = operating(kinds, 0.2, [0.6], participants=500, runs=400, read=20)
    assert [each.exact for each in found.scenarios] == [True, True, *[False] * 6]
    assert {each.runs for each in found.of("index")} == {20}
    null, better = found.of("after")
    assert null.rejected == pytest.approx(plan.power(0.2, 0.2))
    assert better.right == pytest.approx(plan.power(0.8, 0.2))
    assert better.participants == 500
    expected = kinds["after"].operating(0.8, 0.2).on_better
    assert better.on_worse == pytest.approx(500 * (1 - expected))
    # a race of this size declares, and nearly half of its participants are on the worse arm
    null, better = found.of("race")
    assert null.rejected <= 0.05
    assert better.right > 0.9
    assert 0.45 < better.on_worse / better.participants < 0.55
    null, better = found.of("index")
    assert null.wrong + null.right <= 0.3  # 20 trials
    assert better.on_worse < 100
    up, down = sites.operating((0.8,) * 2, (0.2,) * 2, runs=400)
    assert found.of("sites")[1].rejected == pytest.approx(up + down)
    assert 100 <= found.of("sites")[1].participants <= 200
    assert found.of("sites")[1].on_worse == pytest.approx(0.5 * found.of("sites")[1].participants)
    with pytest.raises(InvalidArgument, match="policies alone"):
        operating(kinds["race"], 0.2)
    with pytest.raises(InvalidArgument, match="intervals for their means"):
        operating(
            discreet.policy("dp-ftpl-gauss", epsilon=1.0, delta=1e-6), 0.2, participants=60, runs=3
        )


def test_pictures_are_drawn(tmp_path: Path) -> None:
    found = operating(design(60, looks=1, epsilon=1.0), 0.3, (0.2,))
    figure = found.plot(tmp_path / "power.svg")
    assert len(figure.axes) == 2
    assert "<svg" in (tmp_path / "power.svg").read_text()
    assert json.loads(json.dumps(found.to_dict()))["scenarios"][0]["design"] == "obrien-fleming"


def test_power_of_a_size() -> None:
    found = power_at(0.6, 0.35, 152, looks=2, epsilon=1.0)
    assert found.power == found.design.power(0.6, 0.35)
    assert found.for_privacy == found.without_privacy - found.power > 0.0
    bare = power_at(0.6, 0.35, 152, looks=2, epsilon=math.inf)
    assert bare.power == bare.without_privacy == found.without_privacy
    assert "without privacy" in str(found)


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("effects", {"effects": (0.9,)}), ("control", {"control": 2.0}),
        ("designs", {"designs": {"a": 3}}),
    ],
)  # fmt: skip
def test_what_is_refused(argument: str, given: dict[str, Any]) -> None:
    plan = design(40, looks=1, epsilon=1.0)
    with pytest.raises(InvalidArgument) as caught:
        operating(**{"designs": {"a": plan}, "control": 0.3, "effects": (0.1,), **given})
    assert caught.value.argument == argument


def call(words: str) -> Any:
    return CliRunner().invoke(app, words.split())


def test_the_commands_say_what_the_library_says(tmp_path: Path) -> None:
    said = json.loads(call("size --rates .6,.35 --power .8 --epsilon 1 --looks 2 --json").stdout)
    need = discreet.size(0.6, 0.35, power=0.8, looks=2, epsilon=1.0)
    assert (said["participants"], said["for_privacy"]) == (need.participants, need.for_privacy)
    said = json.loads(
        call("size --rates .6,.35 --participants 152 --epsilon 1 --looks 2 --json").stdout
    )
    assert said["power"] == power_at(0.6, 0.35, 152, looks=2, epsilon=1.0).power
    assert "closed form" in call("size --rates .05,.04 --epsilon 1 --closed-form").stdout
    path = tmp_path / "power.png"
    words = "operating --participants 60 --control .3 --effects .4 --epsilon 2 --json --designs"
    done = call(f"{words} one-look,pocock --plot {path}")
    assert [each["design"] for each in json.loads(done.stdout)["scenarios"]] == [
        "one-look", "one-look", "pocock", "pocock",
    ]  # fmt: skip
    assert path.stat().st_size > 1_000
    done = call(f"{words} then-winner,race")
    assert [each["exact"] for each in json.loads(done.stdout)["scenarios"]] == [
        True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("size --rates .5 --epsilon 1", "be two, treatment and control"),
        ("size --rates .5,.3 --epsilon 1 --power .9 --participants 80", "come without power"),
        ("operating --participants 60 --control .3 --epsilon 1 --designs obf", "boundary must be"),
        ("operating --participants 60 --control .3", "epsilon must be given"),
    ],
)
def test_commands_that_are_refused(words: str, said: str) -> None:
    done = call(words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
