"""Whole trials on symbols, outcomes one by one, blocks in flight: nobody pays more than is claimed,
and mistakes of the steps are paid for."""

from __future__ import annotations

import math
from typing import Any

import pytest

import discreet
from discreet.identify import IDENTIFIERS
from discreet.policies import CATALOGUE
from discreet.privacy.verification._result import main_number
from discreet.protocol import Design, Playing, Vault
from discreet.protocol._symbols import costs


def example(kind: Any, name: str) -> Any:
    row = kind[name].example()
    if row.kind == "identify":
        return row.among(60) if row.fixed_size else row.at(0.1)
    return row


def is_central(row: Any) -> bool:
    release = row.release.guarantee(row.schedule, 60)
    return release.is_private and row.release.respond is None


ROWS = [
    pytest.param(row, id=f"{row.kind}-{name}")
    for kind in (CATALOGUE, IDENTIFIERS)
    for name in kind
    if is_central(row := example(kind, name))
]
IMED = discreet.policy("dp-imed", epsilon=1.0)


def test_there_are_many() -> None:
    assert len(ROWS) >= 24


@pytest.mark.parametrize("row", ROWS)
def test_nobody_pays_more_than_is_claimed(row: Any) -> None:
    """Every private policy of the central model, on its own plan: each of 60 outcomes."""
    found = costs(row, 60)
    claimed = main_number(row.guarantee_at(60).budget)
    assert 0 < len(found) <= 60
    assert max(found) <= claimed * (1.0 + 1e-9)
    assert max(found) > 0.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "terms",
    [
        Playing("index", 4, (0.1, 0.1, 0.1), 3.0),
        Playing("index", 6, (), 2.0, estimate=True),
        Playing("epochs", 1, (), 1.0, longest=12),
        Playing("one batch", 1, (), 0.5, cuts=True),
    ],
    ids=lambda terms: f"{terms.plan}{', pairs' if terms.estimate else ''}",
)
def test_on_every_plan(terms: Playing, seed: int) -> None:
    found = costs(IMED, 80, terms=terms, seed=seed)
    assert len(found) == 80 or (terms.plan == "one batch" and 10 < len(found) < 80)
    assert max(found) == pytest.approx(1.0)


# --- mistakes of the steps


def with_another_block(
    design: Design, vault: Vault, slot: int, arm: int, size: int, t: int, rng: Any
) -> tuple[float, int]:
    """The sum of a block, and what the next arm's open block holds so far."""
    other = vault.total[(slot + design.depth) % len(vault.total)]
    return vault.total[slot] + other, size


def kept_for_ever(
    design: Design, vault: Vault, slot: int, arm: int, size: int, t: int, rng: Any
) -> tuple[float, int]:
    """Every sum is added to the next one of its arm as well."""
    following = arm * design.depth + (slot + 1 - arm * design.depth) % design.depth
    vault.total[following] += vault.total[slot]
    return vault.total[slot], size


@pytest.mark.parametrize("mistake", [with_another_block, kept_for_ever])
def test_outcomes_in_two_blocks_are_paid_for_twice(mistake: Any) -> None:
    """`verify` of the kernel that publishes cannot see it, and still says 1."""
    row = discreet.policy("adap-klucb", epsilon=1.0)
    assert max(costs(row, 80)) == pytest.approx(1.0)
    found = max(costs(row, 80, changed={"collect": mistake}))
    assert found >= 2.0 - 1e-9
    assert main_number(row.proved(arms=3, horizon=80).computed) == pytest.approx(1.0)  # type: ignore[arg-type]


def released_plainly(
    design: Design, head: Any, vault: Vault, arm: int, size: int, found: Any, rng: Any
) -> None:
    """A sum without noise."""
    head.size[arm], head.value[arm] = size, found[0] / size


def test_what_no_noise_hides_costs_everything() -> None:
    found = costs(IMED, 40, changed={"release_block": released_plainly})
    assert max(found) == math.inf


def test_the_front_door_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.protocol import _symbols as symbols

    assert discreet.verify(IMED, arms=2, horizon=40).holds
    monkeypatch.setattr(symbols, "costs", lambda *given, **named: [2.0])
    found = discreet.verify(IMED, arms=2, horizon=40)
    assert found.holds is False
    assert "a trial with blocks in flight" in found.breach
